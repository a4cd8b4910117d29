"""Maximum likelihood of one district, for a whole batch of data sets."""
