"""Standard errors of answers, of one or of very many."""
