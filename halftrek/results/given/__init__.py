"""What users hand over, and what is made of it before anything is fitted."""
