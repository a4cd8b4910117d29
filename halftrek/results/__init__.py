"""What users hold in their hands, and the walk that makes it."""
