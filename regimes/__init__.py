"""Scalings, the prism and its faces, classification, and the atlas from a face to its limit. Imports ``theory``."""
