"""What independent errors tell beyond covariances."""
