"""Does the model fit, and what does not? Measures, tests, residuals, edges that the data ask for."""
