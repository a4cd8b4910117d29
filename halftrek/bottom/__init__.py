"""What every room stands on: array types, names of choices, files, frames, memory, values that travel, bars, words."""
