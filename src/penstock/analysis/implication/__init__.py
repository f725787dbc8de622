"""Implication: do the declarations imply a constraint? `decide.decide` answers; each other module is one part of it."""
