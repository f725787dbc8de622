"""Checkpoints of releases, kept so that each release is seen to read its predecessor's."""
