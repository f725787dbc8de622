"""Spark on a cluster of processes of this machine."""
