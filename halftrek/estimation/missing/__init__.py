"""Maximum likelihood from rows with missing values."""
