"""What compiled kernels share."""
