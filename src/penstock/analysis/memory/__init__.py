"""MEMORY: does constant memory suffice for a query, whatever its streams bring?

Read in this order: `reading` (what of the query counts), `lines` and `order` (what the conditions say of values),
`conditions` and `aggregates` (C1 to C3), `case` (all that stands against it), `synopses` (what to keep), `witness` and
`scale` (an input that shows why not), `self_joins` and `telling`, `measures`, `decide`.
"""

from penstock.analysis.memory.constant_memory import growing_copies, memory_finding, memory_witness

__all__ = ["growing_copies", "memory_finding", "memory_witness"]
