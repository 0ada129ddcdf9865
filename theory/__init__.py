"""Exact and analytic theory: ring graphs, Wick pairings, series, limits, single-index models, effective dynamics.

No randomness, no files, no printing. Imports none of the layers above it.
"""
