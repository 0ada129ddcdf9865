"""Simulators, Monte Carlo, the results store, the ledger of claims, and reports. Imports ``theory`` and ``regimes``."""
