"""Gradient flow of the weight-tied linear autoencoder at real sizes, [P] §2, in the cheapest coordinates."""
