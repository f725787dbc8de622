"""KMON section 1.1: packets seen on three links C, B, O, joined on their identity."""
