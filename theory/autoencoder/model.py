"""The weight-tied linear autoencoder f(x) = UᵀUx as a Gaussian matrix model. [P] §2."""

from __future__ import annotations

from theory.models.model import Model

AUTOENCODER = Model.named("autoencoder").rings
"""U ∈ R^{n×p} trained, X ∈ R^{p×m} data; losses ``train`` ‖X − UᵀUX‖²/(2pm), ``population`` ‖I − UᵀU‖²/(2p)."""
