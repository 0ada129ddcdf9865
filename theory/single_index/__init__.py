"""Single-index models with a spiked covariance [S]: population loss, information exponent, flow."""
