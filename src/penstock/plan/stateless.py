"""Whether a query needs no state at all: then Spark runs it without a state store, a shuffle, or a cell.

One stream of rows that are final as they arrive, no groups, no DISTINCT, nothing to be watched and nothing that waits.
A promise that is watched (an order, a CHECK, a punctuation) has state, be it a clock or how many rows broke it, and so
have parts of a source, of which the metrics tell how far each is: such a query has a cell, though it stores no row.
"""

from __future__ import annotations

from penstock.analysis.finding import Means
from penstock.plan.plan import Plan


def needs_no_state(plan: Plan) -> bool:
    """Whether nothing of a batch is needed in a later one."""
    return (
        len(plan.sources) == 1
        and all(source.state.means == Means.STATELESS.value for source in plan.sources)
        and not any(source.block is not None or source.parts is not None for source in plan.sources)
        and not (plan.promises or plan.punctuations or plan.frontiers or plan.blocks)
        and not (plan.distinct or plan.aggregate is not None or plan.in_arrival_order or plan.by_batch)
        and plan.evict is None
        and plan.rewriting is None
        and not plan.audit
    )
