"""What was read of a plan: the relation, and what is needed to put its answer into the plan's place."""

from __future__ import annotations

from dataclasses import dataclass, replace

from penstock.frames.job_relations import JobColumn, JobRelation
from penstock.frames.job_script import JobPromise
from penstock.spark.frames.call_sites import site_of
from penstock.spark.frames.catalyst import Node, children, delay_of, items, kind, number_of, output, place_of
from penstock.spark.frames.given_clocks import given_clocks
from penstock.spark.frames.kept_state import is_own_state, keeps_state
from penstock.spark.frames.unread_nodes import words_of

TRANSPARENT = ("SubqueryAlias", "ResolvedHint", "View")
"""Nodes that say nothing of rows."""
_BY_NAME = (
    *TRANSPARENT,
    "Project",
    "Filter",
    "Join",
    "Generate",
    "EventTimeWatermark",
    "MapInPandas",
    "MapInArrow",
    "Deduplicate",
)
"""Nodes that read columns by name, and only those that they refer to."""


@dataclass(frozen=True)
class ReadJob:
    """What was read of a plan."""

    relation: JobRelation
    leaves: tuple[Node, ...]
    """The sub-plans left to Spark, by source."""
    promises: tuple[JobPromise, ...]
    region: Node
    """The node whose answer the relation gives."""
    path: tuple[Node, ...]
    """The nodes above it, from the top down."""
    plan: Node
    """All of it."""
    unsaid: tuple[str, ...] = ()
    """Columns that conditions or keys read, and that are worked out of a watermark's, nobody can say how."""
    tables: tuple[Node, ...] = ()
    """The tables that are looked into, by their numbers, which begin at 1."""

    @property
    def functions(self) -> tuple[str, ...]:
        """The functions of the user's on top that have a state of their own."""
        return tuple(words_of(node) for node in self.path if is_own_state(node))

    @property
    def places(self) -> tuple[str, ...]:
        """Where in the job streams are joined and groups are made, as far as Spark knows."""
        return tuple(dict.fromkeys(_places(self.region)))

    @property
    def wanted(self) -> list[Node]:
        """The attributes of the region that anything above, or whoever asked, reads."""
        if any(kind(node) not in _BY_NAME for node in self.path):
            return output(self.region)
        asked = {number_of(attribute) for attribute in output(self.plan)}
        for node in self.path:
            asked |= {number_of(attribute) for attribute in items(node.references().toSeq())}
        return [attribute for attribute in output(self.region) if number_of(attribute) in asked]


def _places(node: Node) -> list[str]:
    own = (site_of(node) or place_of(node)) if keeps_state(node) else None
    below = [place for child in children(node) if child.isStreaming() for place in _places(child)]
    return below if own is None else [own, *below]


def column_of(attribute: Node) -> JobColumn:
    """An attribute as a column of the job."""
    return JobColumn(number_of(attribute), str(attribute.name()), str(attribute.dataType().sql()), delay_of(attribute))


def columns_of(leaf: Node) -> tuple[JobColumn, ...]:
    """The columns of a leaf; of those that Spark notes a watermark with, its clock alone has one."""
    own = given_clocks(leaf)
    return tuple(replace(one, delay=own.get(one.number)) for one in map(column_of, output(leaf)))
