"""What keeping a row is worth under outer joins, EXISTS and NOT EXISTS: GAIN counts pairs to come, these count others.

With m new pairs expected of a row (`policies.py`), it meets none with a chance of about exp(-m).

- Kept side of an outer join: m pairs, and a row without a match with that chance, unless it has matched or is in doubt.
- EXISTS: a row of the outer stream is given once, with the chance of the contrary. Of rows of the inner stream with one
  key, the one that lives longest does what all of them do; the others are worth next to nothing beside it.
- NOT EXISTS: a row is given with the chance that it meets none; one in doubt never is. A row of the inner stream gives
  nothing. That it was there is remembered when it is evicted (`runtime/budget/evicted_keys.py`), so little is lost with
  it.

An estimate, used to choose what to evict and for nothing else.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from penstock.model.nodes import NodeKind
from penstock.plan.plan import Plan
from penstock.plan.tree import NodePlan, TreePlan
from penstock.runtime.budget.rates import Floats
from penstock.runtime.columns.codes import Ints
from penstock.runtime.columns.hashing import Hashes
from penstock.runtime.promise.marks import DOUBTED, MATCHED
from penstock.runtime.state.synopsis import Synopsis

_NEXT_TO_NOTHING = 1e-3


class OuterGain:
    """Turns the pairs that a row is expected to give into what is gained by keeping it."""

    def __init__(self, plan: Plan, synopses: Mapping[str, Synopsis]) -> None:
        assert not plan.inner
        self.synopses = synopses
        self.roles = {alias: _role(plan.tree, alias) for alias in plan.aliases}
        """By stream, the first join above it that is no inner one, and whether it stands on the left of it alone."""

    def of(self, alias: str, ids: Ints, pairs: Floats, brought: Floats, *, keys: Hashes, lives: Floats) -> Floats:
        """The gain of rows of a stream, from the worth of the pairs to come and what each row brings into it."""
        if not len(ids):
            return pairs
        node, is_left = self.roles[alias]
        is_by_key = bool(node.equalities) and all(p.ticks is not None for p in node.predicates)
        none = np.exp(-np.divide(pairs, brought, out=np.zeros(len(ids)), where=brought > 0))
        match node.kind, is_left:
            case NodeKind.SEMI, True:
                return brought * (1.0 - none)
            case NodeKind.SEMI, False:
                return pairs * _first_of_key(keys, lives) if is_by_key else pairs
            case NodeKind.ANTI, True:
                return brought * none * ~self.synopses[alias].marked(DOUBTED, ids)
            case NodeKind.ANTI, False:
                return pairs * _NEXT_TO_NOTHING
            case (NodeKind.LEFT, False) | (NodeKind.INNER, _):
                return pairs
            case _:
                synopsis = self.synopses[alias]
                bare = ~synopsis.marked(MATCHED, ids) & ~synopsis.marked(DOUBTED, ids)
                return pairs + brought * none * bare


def _role(outer: TreePlan, alias: str) -> tuple[NodePlan, bool]:
    number = next(n for n, node in enumerate(outer.nodes) if node.left is None and alias in node.aliases)
    parent = outer.parent(number)
    while parent is not None:
        node = outer.nodes[parent]
        if node.kind is not NodeKind.INNER:
            return node, node.left == number
        number, parent = parent, outer.parent(parent)
    return outer.root, False


def _first_of_key(keys: Hashes, lives: Floats) -> Floats:
    """One for the row of each key that lives longest, the last of them if several do; little for the others."""
    order = np.lexsort((np.arange(len(keys)), lives, keys))
    found: Floats = np.full(len(keys), _NEXT_TO_NOTHING)
    ordered = keys[order]
    last = np.ones(len(keys), np.bool_)
    last[:-1] = ordered[1:] != ordered[:-1]
    found[order[last]] = 1.0
    return found
