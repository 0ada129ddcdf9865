"""Online SGD on single-index models with a spiked covariance [S]: starts, chains, sample complexity."""
