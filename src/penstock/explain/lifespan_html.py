"""How long a row of each stream is kept, as a picture: bars on an axis of event time, and what it waits for meanwhile.

The axis begins at the row's own event time and is the same for all streams of a block, with Spark's own join beside
ours. A bar that ends tells a length; the pale end of it is the lateness that an order allows. One with an arrow has no
end; a striped one ends when something happens that event time says nothing of. It is laid out by the browser, words in
lines of their own above their bars, so that it fits a phone as well as a wide screen. Nothing is decided here
(`analysis/lifespans.py`, `analysis/spark_join.py`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape

from penstock.analysis.finding import Bounded, Finding, Means, Undecided, Verdict
from penstock.analysis.lifespans import Lifespan, Wait, lifespan
from penstock.analysis.reasons import WaitsUntil
from penstock.analysis.spark_join import SparkKept, spark_keeps
from penstock.explain.reason_words import told
from penstock.model.query import Query
from penstock.model.spans import Unit, span_of_ticks
from penstock.plan.planner import as_run, closings_of

_STEPS = (1, 2, 5, 10, 15, 20, 30)
_HOURS = (1, 2, 3, 6, 12)
_MOST_TICKS = 5
_ROOM = 0.86
"""How much of the width the longest bar takes: what has no end goes on beyond it."""

CAPTION = (
    "From the event time of a row to the right: how far streams must have been read before the row leaves, as if all "
    "were read equally far. The pale end of a bar is for rows that may come late. An arrow has no end; a striped bar "
    "ends when what is written beside it has happened, whatever the time. Grey: what Spark's own join would keep."
)


def lifespans(query: Query, verdict: Verdict) -> list[str]:
    """The picture of one block, line by line; nothing where no row is kept."""
    run = as_run(query, verdict)
    graph = closings_of(run, verdict)
    if len(run.all_sources) < 2 or verdict.rewrite.applies:
        return []
    found = {state.alias: state.finding for state in verdict.streams}
    spans = [lifespan(graph, source.alias) for source in run.all_sources]
    kept = spark_keeps(run)
    ends = [wait.end for span in spans for wait in span.waits] + [one.end for one in kept.values()]
    longest = max((end for end in ends if end is not None), default=0)
    instants = any(span.instants for span in spans)
    lines = ['<figure class="lives">']
    for span in spans:
        lines += _stream(span, found[span.alias], kept[span.alias], longest)
    lines += _axis(longest, instants)
    return [*lines, f"<figcaption>{escape(CAPTION)}</figcaption></figure>"]


def _stream(span: Lifespan, finding: Finding, spark: SparkKept, longest: int) -> Iterator[str]:
    title = f'{escape(span.alias)} <span class="soft">{escape(_total(span, finding))}</span>'
    yield f'<div class="life"><div class="title">{title}</div>'
    if not isinstance(finding, Bounded) or finding.means is Means.PURGE:
        for waits in _together(span.waits):
            first = waits[0]
            if first.until is None and isinstance(finding, Undecided):
                yield _wait(f"not known: nothing that is declared closes {_names(waits)} for it", "")
                continue
            yield _wait(_waiting(waits, span.instants), _bar(_look(first), first.end, first.late or 0, longest))
    else:
        yield _wait(told(finding.bound), "" if finding.rows == 0 else _bar("until", None, 0, longest))
    look = "spark endless" if spark.end is None else "spark"
    bar = "" if spark.is_refused else _bar(look, spark.end, spark.late, longest)
    yield _wait(f"Spark {told(spark.because)}", bar)
    yield "</div>"


def _together(waits: Sequence[Wait]) -> list[list[Wait]]:
    """Those that have the same length and the same words but for the stream, in the order of the longest last."""
    found: dict[object, list[Wait]] = {}
    for wait in waits:
        passes = wait.until is not None and wait.until.kind in (WaitsUntil.PASSED, WaitsUntil.PASSED_BY)
        key = (wait.ticks, wait.late, wait.met, wait.until.about[1:]) if passes and wait.until else wait.target
        key = "nothing" if wait.until is None else key
        found.setdefault(key, []).append(wait)
    return list(found.values())


def _names(waits: Sequence[Wait]) -> str:
    return " and ".join(wait.target for wait in waits)


def _waiting(waits: Sequence[Wait], instants: bool) -> str:
    names, first = _names(waits), waits[0]
    if first.until is None:
        return f"for ever: nothing closes {names} for it"
    met = f", for rows of {' and '.join(first.met)} that it met" if first.met else ""
    # Where it is counted from a row that it met, the length from the row itself is told too.
    length = f" ({_length(max(0, first.ticks), instants)} in all)" if first.ticks is not None and first.met else ""
    once = told(first.until)
    if len(waits) > 1:
        columns = tuple(wait.until.about[0] for wait in waits if wait.until is not None)
        once = told(type(first.until)(first.until.kind, (columns, *first.until.about[1:])))
    return f"waits for {names}{met}: until {once}{length}"


def _look(wait: Wait) -> str:
    if wait.until is None:
        return "endless"
    return "until" if wait.end is None else "ends"


def _total(span: Lifespan, finding: Finding) -> str:
    if isinstance(finding, Bounded) and finding.means is not Means.PURGE:
        return "nothing is kept" if finding.rows == 0 else ""
    if isinstance(finding, Undecided):
        return "not known how long a row is kept"
    if span.is_endless:
        return "a row is kept for ever"
    if span.end is None:
        return "a row is kept until all of this has happened, however long that takes"
    late = max(wait.late or 0 for wait in span.waits) if span.waits else 0
    length = _length(span.end, span.instants)
    return f"a row is kept for {length} of event time{', the lateness of others included' if late else ''}"


def _length(ticks: int, instants: bool) -> str:
    if not ticks:
        return "0"
    if not instants:
        return str(span_of_ticks(ticks, instants))
    # What is no whole number of a large unit is told by its two largest.
    said = []
    for unit in reversed(Unit):
        count, ticks = divmod(ticks, unit.value)
        if count:
            said.append(f"{count} {unit.name.lower()}{'' if count == 1 else 's'}")
    return " ".join(said[:2]) or "under a millisecond"


def _wait(label: str, bar: str) -> str:
    return f'<div class="wait"><span>{escape(label)}</span><div class="track">{bar}</div></div>'


def _bar(look: str, end: int | None, late: int, longest: int) -> str:
    """A bar with its pale end; its lengths are shares of the width, and without an end it is all of it."""
    if end is None:
        return f'<i class="{look}" style="width: 100%"></i>'
    whole, tail = _share(end, longest), _share(min(late, end), longest)
    bar = f'<i class="{look}" style="width: {whole - tail:.2f}%"></i>'
    return bar + (f'<i class="{look} late" style="width: {tail:.2f}%"></i>' if tail else "")


def _share(ticks: int, longest: int) -> float:
    return 100 * _ROOM * ticks / longest if longest else 0.0


def _axis(longest: int, instants: bool) -> Iterator[str]:
    """Where a few round lengths lie."""
    marks = [0] if not longest else list(range(0, longest + 1, _step(longest, instants)))
    places = "".join(
        f'<span style="left: {_share(mark, longest):.2f}%">{escape(_mark(mark, instants))}</span>' for mark in marks
    )
    yield f'<div class="axis" aria-hidden="true">{places}</div>'


def _mark(ticks: int, instants: bool) -> str:
    return "its own time" if not ticks else f"+{_length(ticks, instants)}"


def _step(longest: int, instants: bool) -> int:
    """A round length of which at most a few make the axis."""
    rough = longest / _MOST_TICKS
    if instants:
        units = ((Unit.MILLISECOND, _STEPS), (Unit.SECOND, _STEPS), (Unit.MINUTE, _STEPS), (Unit.HOUR, _HOURS))
        for unit, counts in units:
            for count in counts:
                if count * unit.value >= rough:
                    return count * unit.value
    base = Unit.DAY.value if instants else 1
    power = 1
    while True:
        for count in (1, 2, 5):
            if count * power * base >= rough:
                return count * power * base
        power *= 10
