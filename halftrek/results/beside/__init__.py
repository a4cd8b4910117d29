"""What a fit says beside answers: tables of checks, instruments, adjustments, predictions, factors."""
