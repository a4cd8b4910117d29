"""The models of a covariance in exact arithmetic: weights, questions and assumptions as quotients of polynomials."""
