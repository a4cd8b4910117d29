"""Cases in the names of the revisions before there were any: a copy, which stays as it is when names change."""
