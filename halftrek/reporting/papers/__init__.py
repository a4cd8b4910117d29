"""Documents for papers: answers as one table, and any described thing in LaTeX, Typst and Word."""
