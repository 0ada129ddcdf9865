"""Pages to show: the atlas, the ledger."""
