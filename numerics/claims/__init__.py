"""The ledger of claims: what the theory predicts, what simulation measures, and the verdict."""
