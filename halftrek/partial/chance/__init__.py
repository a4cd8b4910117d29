"""What chance leaves open of a set: which values the data exclude although the graph does not fix one."""
