"""MEMORY: does constant memory suffice for a query, whatever its streams bring?"""

from penstock.analysis.memory.decide import growing_copies, memory_finding, memory_witness

__all__ = ["growing_copies", "memory_finding", "memory_witness"]
