"""Questions about columns as they were seen, where normal variables are behind some of them."""
