"""Maximum likelihood of models with hidden variables that have causes: all parameters at once."""
