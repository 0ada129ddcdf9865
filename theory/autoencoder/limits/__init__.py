"""Limit solutions of the autoencoder, one face (or one part shared by several faces) a file."""
