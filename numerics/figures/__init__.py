"""Figures: one style, colour-blind-safe, legible at print size."""
