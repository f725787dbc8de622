"""Does every row that waits in an outer join, an EXISTS or a block leave in the end? The static side of the engine.

A row leaves its side of a node (model/nodes.py) if closings lead from the streams that are sure to be in a row able to
match there to a stream that every row of the other side holds. Rows that wait on that side agree with it only until
they leave themselves, so it is asked of every side of every node together (`runtime/join/settling.py`).

A tuple of a block of several streams leaves if closings lead from it, over the block, to all its streams. Streams that
stand in every result with the block may lie on the way: `A LEFT JOIN (B JOIN C)` lets a row of B go if A is closed for
it and C for each row of A that it met. Not over windows: what one lets fall after a match was made still had a match.

Not decided: rows that are final earlier, because a NULL or a condition on their own stream lets them match nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Protocol

from penstock.model.nodes import NodeKind
from penstock.model.query import Query
from penstock.records import record

Closes = Callable[[frozenset[str], str], bool]
"""Whether rows of some streams that stand together have another stream closed for them in the end."""


class AnyNode(Protocol):
    """What is asked of a node, of a query or of its plan."""

    @property
    def kind(self) -> NodeKind:
        """How its rows come about."""

    @property
    def aliases(self) -> tuple[str, ...]:
        """The streams of its rows."""

    @property
    def left(self) -> int | None:
        """The node on its left."""

    @property
    def right(self) -> int | None:
        """The node on its right."""

    @property
    def certain(self) -> Sequence[str] | frozenset[str]:
        """The streams that are in each of its rows."""

    @property
    def required(self) -> Sequence[str] | frozenset[str]:
        """The streams without which a row matches nothing here."""


@record
class Stuck:
    """Rows that never leave a side of a node, or a block."""

    rows: tuple[str, ...]
    """The streams that they are made of."""
    others: tuple[str, ...]
    """The streams that they wait for."""
    reached: frozenset[str]
    """The streams that are there, or closed already."""
    targets: frozenset[str]
    """Of which one more must be closed."""


def beyond(query: Query, aliases: tuple[str, ...]) -> tuple[str, ...]:
    """The streams that stand in every result with these; none under windows, nor where these are one stream."""
    if len(aliases) == 1 or any(source.window is not None for source in query.all_sources):
        return ()
    held = {e.source.alias for e in query.existences if not e.negated}
    there = query.holding(frozenset(aliases)).present | held
    return tuple(s.alias for s in query.all_sources if s.alias in there and s.alias not in aliases)


class Leaving:
    """Asks it of the nodes of one query; `counted` are the streams with [ROWS n], whose rows leave by themselves."""

    def __init__(
        self, nodes: Sequence[AnyNode], beyond: Sequence[tuple[str, ...]], counted: frozenset[str] = frozenset()
    ) -> None:
        self.nodes = nodes
        self.beyond = beyond
        """For each node that is a block, the streams that stand in every result with its own."""
        self.counted = counted

    def waiting_across(self, alias: str) -> tuple[str, ...]:
        """The streams of rows that wait in a join on the far side of one that rows of a stream go through.

        They may come late, and match a row that is out of its [ROWS n] by now: they came in time.
        """
        found: dict[str, None] = {}
        for node in self.nodes:
            for own, other in ((node.left, node.right), (node.right, node.left)):
                if own is not None and other is not None and alias in self.nodes[own].aliases:
                    found.update(dict.fromkeys(self.nodes[other].aliases if self.nodes[other].left is not None else ()))
        return tuple(found)

    def stuck(self, closes: Closes) -> Iterator[Stuck]:
        """The rows that nothing lets go."""
        for node, further in zip(self.nodes, self.beyond, strict=True):
            if node.left is None or node.right is None:
                yield from (s for alias in node.aliases if (s := self._in_block(closes, node, further, alias)))
                continue
            for own, other in ((node.left, node.right), (node.right, node.left)):
                held = self.nodes[own]
                there = frozenset(held.certain) | (frozenset(node.required) & frozenset(held.aliases))
                if not self._settles(closes, there, node, other):
                    others = self.nodes[other].aliases
                    yield Stuck(held.aliases, others, there, frozenset(others))

    def _in_block(self, closes: Closes, node: AnyNode, further: tuple[str, ...], alias: str) -> Stuck | None:
        reached = frozenset({alias})
        wanted, over = frozenset(node.aliases), frozenset((*node.aliases, *further))
        while not wanted <= reached and self.counted.isdisjoint(reached):
            new = {a for a in over - reached if closes(reached, a)}
            if not new:
                return Stuck((alias,), tuple(a for a in node.aliases if a not in reached), reached, over - reached)
            reached |= new
        return None

    def _settles(self, closes: Closes, there: frozenset[str], at: AnyNode, number: int) -> bool:
        node = self.nodes[number]
        if node.left is None or node.right is None:
            return not self.counted.isdisjoint(there) or any(closes(there, alias) for alias in node.aliases)
        demanded = [not set(at.required).isdisjoint(self.nodes[side].aliases) for side in (node.left, node.right)]
        left, right = (self._settles(closes, there, at, side) for side in (node.left, node.right))
        match node.kind:
            case NodeKind.INNER:
                return left or right
            case NodeKind.LEFT:
                return left or (right and demanded[1])
            case _ if all(demanded):
                return left or right
            case _ if any(demanded):
                return left if demanded[0] else right
            case _:
                return left and right
