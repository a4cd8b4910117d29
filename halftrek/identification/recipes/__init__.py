"""A formula as data: solved, differentiated, put into words."""
