"""What rows with missing values say about parameters: all districts at once."""
