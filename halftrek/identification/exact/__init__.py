"""The complete decision by algebra; its arithmetic is that of FLINT."""
