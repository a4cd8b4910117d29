"""Data behind which there is more: hidden variables, and normal variables of columns in categories."""
