"""The arithmetic that decisions are made in: floating point, modulo a prime, with derivatives."""
