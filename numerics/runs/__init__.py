"""Replicas of an experiment: seeds, workers, cluster, store."""
