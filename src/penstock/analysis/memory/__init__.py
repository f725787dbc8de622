"""MEMORY: does constant memory suffice for a query, whatever its streams bring?"""

from penstock.analysis.memory.decide import memory_finding

__all__ = ["memory_finding"]
