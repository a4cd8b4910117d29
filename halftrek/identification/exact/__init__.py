"""The complete decision by algebra."""
