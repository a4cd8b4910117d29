"""What is said beside a verdict: what would help, what can be tested, which instruments there are."""
