"""The engine for Gaussian matrix models: declarations, rings, merging, Wick expectation, Laurent polynomials."""
