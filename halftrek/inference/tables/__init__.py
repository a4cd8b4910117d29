"""Many numbers of one fit at once, each with its uncertainty: parameters, effects, mediators, units."""
