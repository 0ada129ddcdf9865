"""Effective dynamics of one-pass SGD [U] [E]: tasks, summary statistics, ODE limits, diffusions."""
