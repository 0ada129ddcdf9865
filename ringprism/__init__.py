"""The short public face of ringprism; the layers beneath (``theory``, ``regimes``, ``numerics``) are public too."""
