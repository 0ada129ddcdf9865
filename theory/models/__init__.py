"""Gaussian matrix models other than the tied autoencoder of [P], each a declaration for ``theory.engine``."""
