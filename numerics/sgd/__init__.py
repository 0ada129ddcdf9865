"""One-pass SGD simulated: full-dimensional for any input law, reduced to its statistics for Gaussian ones [U] [E]."""
