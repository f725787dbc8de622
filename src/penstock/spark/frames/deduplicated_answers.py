"""`dropDuplicates` by some of the columns of joined streams, with others read: Spark's own, put back on the answer.

Which of the rows that agree on these columns is kept, is said by no column: one of those in the first batch that has
any. An inner join gives a row in the batch in which the last of its tuples arrives, here as in Spark's own plan, and so
do filters, columns and unions above: each batch brings the same rows to the deduplication as it would there. An outer
join gives rows without a match when they are certain, which here may be sooner; of these another row might be kept, so
that is refused.

What Spark deduplicates by an event time it forgets once a watermark has passed it. The watermarks of the streams have
passed rows that are still to be joined: so they are taken out of the leaves, and the answer has one of its own, as far
behind as its rows may come (`analysis/answer_lag.py`). Where no such lag is known, it has none, and nothing is
forgotten. A leaf that deduplicates by itself needs its watermark, so beside one it is refused.
"""

from __future__ import annotations

from collections.abc import Iterable

from penstock.errors import NotSupportedYet
from penstock.frames.job_relations import JobFilter, JobJoin, JobLeaf, JobProject, JobRelation, JobUnion
from penstock.spark.frames.catalyst import Catalyst, Node, children, delay_of, items, kind, number_of, output
from penstock.spark.frames.deduplications import deduplications
from penstock.spark.frames.unread_nodes import unread


def reads_others(plan: Node, node: Node) -> bool:
    """Whether a node deduplicates by some columns, and others are read of it in a plan."""
    if kind(node) != "Deduplicate":
        return False
    keys = {number_of(key) for key in items(node.keys())}
    return bool(({number_of(attribute) for attribute in output(node)} - keys) & _read_above(plan, node))


def _read_above(plan: Node, below: Node) -> set[int]:
    """The columns that a plan gives, and that its nodes outside of a sub-plan read."""

    def read(node: Node) -> set[int]:
        if node.equals(below):
            return set()
        own = {number_of(attribute) for attribute in items(node.references().toSeq())}
        return own.union(*map(read, children(node)))

    return read(plan) | {number_of(attribute) for attribute in output(plan)}


def require_alone(node: Node, relation: JobRelation, leaves: Iterable[Node]) -> None:
    """Raise NotSupportedYet where the answer cannot be deduplicated as Spark would: see above."""
    if not gives_at_once(relation):
        raise unread_deduplication(node)
    if any(map(deduplications, leaves)):
        raise unread(
            node,
            "dropDuplicates by some of the columns of joined streams, one of which is deduplicated too,",
            "both need watermarks of their own: deduplicate the streams alone, or what they give",
        )


def gives_at_once(relation: JobRelation) -> bool:
    """Whether each row is given in the batch in which the last of its tuples arrives."""
    match relation:
        case JobLeaf():
            return True
        case JobFilter() | JobProject():
            return gives_at_once(relation.child)
        case JobJoin():
            return relation.kind == "INNER" and gives_at_once(relation.left) and gives_at_once(relation.right)
        case JobUnion():
            return all(map(gives_at_once, relation.members))
        case _:
            return False


def unread_deduplication(node: Node) -> NotSupportedYet:
    """That it is not known which row Spark would keep."""
    keys = ", ".join(f'"{name}"' for name in names_of_keys(node))
    return unread(
        node,
        "dropDuplicates by some of the columns of joined streams, with others read above it,",
        "which of these rows is kept depends on when each is emitted: deduplicate the streams before they are joined, "
        f"select no other columns, or say which row is meant: groupBy({keys}).agg(F.min_by(…))",
    )


def deduplicated(path: Iterable[Node]) -> Node | None:
    """The deduplication among the nodes that are put back on an answer."""
    return next((node for node in path if kind(node) == "Deduplicate"), None)


def clock_of(node: Node) -> int | None:
    """The column with a watermark that a node deduplicates by."""
    clocks = [number_of(one) for one in output(node.child()) if delay_of(one) is not None]
    keys = {number_of(key) for key in items(node.keys())}
    return next((clock for clock in clocks if clock in keys), None)


def names_of_keys(node: Node) -> tuple[str, ...]:
    """The columns that a node deduplicates by."""
    return tuple(str(key.name()) for key in items(node.keys()))


def without_watermarks(plan: Node, catalyst: Catalyst) -> Node:
    """A leaf whose columns have no watermark."""
    below = [without_watermarks(child, catalyst) for child in children(plan)]
    if kind(plan) == "EventTimeWatermark":
        return below[0]
    return plan.withNewChildren(catalyst.seq(below)) if below else plan
