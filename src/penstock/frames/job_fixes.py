"""What a Spark user would write to bound a job: watermarks, times compared in joins, windows in groups.

Each offer is the job changed in one more way than the one before, and the lines that change it so; whoever asks checks
the changed job, and offers the first that is bounded. Lengths are examples, which the user knows better.

The clock of a stream is the column that has a watermark, or is promised to be in order; else a time that the job
compares or groups by, else the first time that there is. A stream without one is left as it is.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace

from penstock.frames.job_relations import (
    JobAggregate,
    JobColumn,
    JobDistinct,
    JobExpression,
    JobFilter,
    JobJoin,
    JobLeaf,
    JobLookup,
    JobProject,
    JobRelation,
    JobUnion,
    leaves_of,
    placeholder,
)
from penstock.frames.needed_columns import pruned

_TIMES = ("TIMESTAMP", "TIMESTAMP_NTZ")
_DELAY = 600_000


@dataclass(frozen=True)
class JobFix:
    """A changed job, and what changes it so."""

    relation: JobRelation
    lines: tuple[str, ...]


def usual_fixes(relation: JobRelation, ordered: Mapping[int, Collection[str]]) -> Iterator[JobFix]:
    """The offers, from the least change on; `ordered` has the columns of each source that are promised in order."""
    clocks = clocks_of(relation, ordered)
    change = _Change(clocks, {source: set(names) for source, names in ordered.items()})
    marked = change.marked(relation)
    if change.lines:
        yield JobFix(marked, tuple(change.lines))
    known = len(change.lines)
    timed = change.timed(marked)
    if len(change.lines) > known:
        yield JobFix(timed, tuple(change.lines))
    known = len(change.lines)
    windowed = change.windowed(timed)
    if len(change.lines) > known:
        yield JobFix(windowed, tuple(change.lines))


def clocks_of(relation: JobRelation, ordered: Mapping[int, Collection[str]]) -> dict[int, int]:
    """By source, the place of the column that is its clock, or could be."""
    compared: dict[int, set[int]] = {}
    pruned(relation, (), compared)
    found = {}
    for leaf in leaves_of(relation):
        times = [place for place, column in enumerate(leaf.columns) if column.type in _TIMES]
        own = [place for place, column in enumerate(leaf.columns) if column.delay is not None]
        said = [place for place, column in enumerate(leaf.columns) if column.name in ordered.get(leaf.source, ())]
        used = [place for place in times if place in compared.get(leaf.source, ())]
        if best := [*own, *said, *used, *times]:
            found[leaf.source] = best[0]
    return found


def _told_apart(*sides: tuple[JobRelation, JobColumn]) -> list[str]:
    """The clocks of both sides of a join, by the names of their streams where they are called the same."""
    names = [column.name for _, column in sides]
    if len(set(names)) == len(names):
        return names
    of = [next((leaf.name for leaf in leaves_of(side) if column in leaf.columns), "") for side, column in sides]
    apart = of if all(of) and len(set(of)) == len(of) else ["left", "right"]
    return [f"{side}.{name}" for side, name in zip(apart, names, strict=True)]


@dataclass
class _Change:
    clocks: Mapping[int, int]
    ordered: Mapping[int, Collection[str]]

    def __post_init__(self) -> None:
        self.lines: list[str] = []

    def marked(self, relation: JobRelation) -> JobRelation:
        """With a watermark on each clock that has none."""
        match relation:
            case JobLeaf():
                place = self.clocks.get(relation.source)
                if place is None or relation.columns[place].delay is not None:
                    return relation
                column = relation.columns[place]
                if column.name in self.ordered.get(relation.source, ()):
                    return relation
                self._say(f'{relation.name}.withWatermark("{column.name}", "10 minutes")')
                columns = (
                    *relation.columns[:place],
                    replace(column, delay=_DELAY),
                    *relation.columns[place + 1 :],
                )
                return replace(relation, columns=columns)
            case JobJoin():
                return replace(relation, left=self.marked(relation.left), right=self.marked(relation.right))
            case JobUnion():
                return replace(relation, members=tuple(map(self.marked, relation.members)))
            case _:
                return replace(relation, child=self.marked(relation.child))

    def timed(self, relation: JobRelation) -> JobRelation:
        """With the clocks of both sides compared in each join that compares no times of both."""
        match relation:
            case JobLeaf():
                return relation
            case JobJoin():
                left, right = self.timed(relation.left), self.timed(relation.right)
                ours, theirs = self._clock(left), self._clock(right)
                if ours is None or theirs is None or self._compares_times(relation):
                    return replace(relation, left=left, right=right)
                low = f"{placeholder(ours.number)} - INTERVAL 1 HOUR"
                high = f"{placeholder(ours.number)} + INTERVAL 1 HOUR"
                near = JobExpression(f"({placeholder(theirs.number)} BETWEEN {low} AND {high})")
                mine, other = _told_apart((left, ours), (right, theirs))
                written = f"{other} BETWEEN {mine} - INTERVAL 1 HOUR AND {mine} + INTERVAL 1 HOUR"
                self._say(f"in the condition of the {relation.kind.lower()} join: AND {written}")
                return replace(relation, left=left, right=right, on=(*relation.on, near))
            case JobUnion():
                return replace(relation, members=tuple(map(self.timed, relation.members)))
            case _:
                return replace(relation, child=self.timed(relation.child))

    def windowed(self, relation: JobRelation) -> JobRelation:
        """With a window of time among the keys of the groups on top."""
        if isinstance(relation, JobFilter | JobProject):
            return replace(relation, child=self.windowed(relation.child))
        if not isinstance(relation, JobAggregate) or any("window(" in key.text for key in relation.keys):
            return relation
        clock = self._clock(relation.child)
        if clock is None:
            return relation
        self._say(f'groupBy(F.window("{clock.name}", "10 minutes"), …)')
        window = JobExpression(f"window({placeholder(clock.number)}, '10 minutes')")
        return replace(relation, keys=(*relation.keys, window))

    def _compares_times(self, join: JobJoin) -> bool:
        """Whether some condition reads a time of either side."""
        sides = [{c.number for c in side.columns if c.type in _TIMES} for side in (join.left, join.right)]
        return any(all(condition.columns & side for side in sides) for condition in join.on)

    def _clock(self, relation: JobRelation) -> JobColumn | None:
        """The column in which a relation carries a clock of its streams."""
        match relation:
            case JobLeaf():
                place = self.clocks.get(relation.source)
                return None if place is None else relation.columns[place]
            case JobProject():
                below = self._clock(relation.child)
                same = [c for c, text in relation.outputs if below is not None and text.column == below.number]
                return same[0] if same else None
            case JobJoin():
                return self._clock(relation.right if relation.kind == "RIGHT OUTER" else relation.left)
            case JobFilter() | JobDistinct() | JobLookup():
                return self._clock(relation.child)
            case _:
                return None

    def _say(self, line: str) -> None:
        if line not in self.lines:
            self.lines.append(line)
