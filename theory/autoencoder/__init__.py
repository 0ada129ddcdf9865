"""The weight-tied linear autoencoder of [P] as one declaration, and its loss series."""
