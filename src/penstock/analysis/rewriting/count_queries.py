"""A query as counts: what is counted of which stream, and how the answer is made of the counts. Inert data.

The answer for a window and a group is `least(root, V) - A`: the rows of V, never more than those of the root, less the
rows of A that are taken off. `sql` is that query as Spark reads it: one aggregation over all streams together, so that
a stream without a row in a window counts 0 there. What runs is made of the same parts (`spark/rewritten_query.py`).
"""

from __future__ import annotations

from penstock.analysis.rewriting.count_values import N
from penstock.model.names import quoted
from penstock.model.spans import span_of_ticks
from penstock.records import record

SOURCE, TIME, WINDOW = "source", "ts", "window"
"""The columns of the rows that are counted: which source, when; and Spark's own name for the window."""

BOUNDS = ("error_declared", "error_observed", "error_violations", "error_answer", "broken", "exceeded")
"""The columns that WITH BOUNDS adds, beside the limits of each count."""


@record
class CountedSource:
    """A source whose rows are counted; lengths are ticks."""

    alias: str
    stream: str
    event_time: str
    conditions: tuple[str, ...]
    """What a row must satisfy to be counted, as Spark reads it."""
    groups: tuple[str, ...]
    """Its columns for the groups of the query."""
    keys: tuple[str, ...]
    """Its columns by which the query matches it with the others."""
    low: int
    high: int
    """By how much it lies after the row of the root that it is matched with."""
    partner_low: int
    partner_high: int
    """By how much it lies after the row that its FOREIGN KEY promises: V's for A, the root's for V."""
    asked_low: int
    asked_high: int
    """By how much it would lie after that row if only the query said so."""
    slack: int
    """How far its event times may stray from their order: a watermark."""

    @property
    def stray(self) -> int:
        """The length of the edges of a window over which a match can lie."""
        return max(self.high, 0) + max(-self.low, 0)


@record
class CountOutput:
    """A column of the answer: `count`, `window`, `start` or `end` of it, or `group` with its place.

    A `count` is a value of the number of results, which stands in its text as `{n}`, and rises or falls with it.
    """

    name: str
    kind: str
    group: int = 0
    text: str = N
    falls: bool = False

    def of(self, number: str) -> str:
        """A `count` as an expression, for a number of results that is one."""
        return self.text.replace(N, number)


@record
class Rewriting:
    """The counts that stand for a query."""

    root: str
    counted: str
    """V, whose rows the join has as many of."""
    removed: str | None
    """A, whose rows have a match that NOT EXISTS forbids."""
    sources: tuple[CountedSource, ...]
    """The root, V and A, each once."""
    period: int
    """The length of a window, in ticks."""
    outputs: tuple[CountOutput, ...]
    with_bounds: bool

    def source(self, alias: str) -> CountedSource:
        """A counted source by its alias."""
        return next(source for source in self.sources if source.alias == alias)

    @property
    def reach(self) -> int:
        """The paper's epsilon: the length of the edges of a window over which some match can lie."""
        return max(source.stray for source in self.sources)

    @property
    def apart_reach(self) -> int:
        """The same where V strays one way at one end of a window and A the other way at the other: their reaches add
        up. Where only one of them is beside the root it is epsilon.
        """
        return sum(source.stray for source in self.sources)

    @property
    def sight(self) -> int:
        """How far beyond the ends of a window WITH BOUNDS looks: as far as the query matches, at most a window."""
        asked = max(max(-source.asked_low, source.asked_high) for source in self.sources)
        return max(self.reach, min(asked, self.period))

    @property
    def error_bound(self) -> float:
        """epsilon / k: the share of the root's rows by which the answer may be off, if all streams come evenly."""
        return self.reach / self.period

    @property
    def is_exact(self) -> bool:
        """Whether every match is in the window of its root."""
        return self.reach == 0

    @property
    def limits(self) -> tuple[tuple[str, str], ...]:
        """The columns for the limits of each count, and each as an expression over the limits of the number."""
        counts = [output for output in self.outputs if output.kind == "count"]
        ends = ("low", "high")
        return tuple(
            (f"{output.name}_{end}", output.of(of))
            for output in counts
            for end, of in zip(ends, reversed(ends) if output.falls else ends, strict=True)
        )

    @property
    def group_names(self) -> tuple[str, ...]:
        """What the columns of the groups are called where all streams stand together."""
        return tuple(f"group_{number}" for number, _ in enumerate(self.sources[0].groups, start=1))

    @property
    def count(self) -> str:
        """The answer as an expression over the rows of a window."""
        counts = {alias: f"count_if({SOURCE} = {literal(alias)})" for alias in (s.alias for s in self.sources)}
        found = counts[self.counted]
        if self.counted != self.root:
            found = f"least({counts[self.root]}, {found})"
        return found if self.removed is None else f"{found} - {counts[self.removed]}"

    @property
    def window(self) -> str:
        """The window of a row."""
        return f"window({TIME}, '{str(span_of_ticks(self.period, instants=True)).lower()}')"

    @property
    def sql(self) -> str:
        """The query as Spark reads it."""
        groups = ", ".join((self.window, *self.group_names))
        parts = "\n  UNION ALL\n".join(f"  {self._rows(source)}" for source in self.sources)
        outputs = ", ".join(self._output(output) for output in self.outputs)
        return f"SELECT {outputs}\nFROM (\n{parts}\n)\nGROUP BY {groups}\nHAVING {self.count} > 0"

    def _rows(self, source: CountedSource) -> str:
        named = zip(source.groups, self.group_names, strict=True)
        groups = [f"{quoted(source.alias)}.{quoted(column)} AS {name}" for column, name in named]
        time = f"{quoted(source.alias)}.{quoted(source.event_time)} AS {TIME}"
        columns = ", ".join((f"{literal(source.alias)} AS {SOURCE}", time, *groups))
        where = f" WHERE {' AND '.join(source.conditions)}" if source.conditions else ""
        alias = "" if source.alias == source.stream else f" AS {quoted(source.alias)}"
        return f"SELECT {columns} FROM {quoted(source.stream)}{alias}{where}"

    def _output(self, output: CountOutput) -> str:
        return f"{self.value(output)} AS {quoted(output.name)}"

    def value(self, output: CountOutput) -> str:
        """A column of the answer as an expression over window, groups and rows."""
        match output.kind:
            case "count":
                return self.count if output.text == N else output.of(f"({self.count})")
            case "group":
                return self.group_names[output.group]
            case "window":
                return WINDOW
            case end:
                return f"{WINDOW}.{end}"


def literal(text: str) -> str:
    """A string in Spark's SQL."""
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"
