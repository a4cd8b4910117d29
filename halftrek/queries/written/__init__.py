"""Questions as text and LaTeX."""
