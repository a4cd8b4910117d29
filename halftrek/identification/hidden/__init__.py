"""Hidden variables with causes: which count as observed, and what may be known of them and through them."""
