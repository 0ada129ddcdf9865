"""Softplus lives beside the grammar, which the single-index links share; this name is kept for the SGD rooms."""

from theory.softplus import Softplus as Softplus
