"""What a fit is given, looked at before it starts: moments, options, the kind of data."""
