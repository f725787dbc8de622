"""What each data row needs of a constraint: KMON's distances (3.5), and their like for keys, references and times.

- OA(k): a row with value x needs the rows since the first larger value, itself included.
- CA(k): the rows of other values since the first row of its own.
- RIDS(k): the rows of the parent that arrived after it, up to and with its last match.
- ORDERED in time: how far it lies below the largest value so far. FOLLOWS in time, COOCCURS: how far its last match
  lies after it, its first before it.
- PRIMARY KEY, FOREIGN KEY, CHECK, ARRIVES BY, PUNCTUATED: 1 if it breaks them.

NULL as DESIGN says: it needs nothing of ORDERED, CLUSTERED, FOLLOWS and FOREIGN KEY, and breaks PRIMARY KEY and ARRIVES
BY. Not asked here: STREAM KEY, and punctuations with a LIFESPAN, whose values may come again.

Every constraint is reduced to one number a row, its **need**: the least k, in rows or in ticks of event time, with
which the row keeps the constraint (KMON 3.5), or 1 for a row that breaks one that has no k. The k that p of the rows
keep is then the least number that at least p of the needs do not exceed, whatever the constraint.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812 - as everyone writes it

from penstock.model.names import quoted
from penstock.model.predicates import conjunction
from penstock.model.schemes import (
    Check,
    Clustered,
    Cooccurs,
    Follows,
    ForeignKey,
    Ordered,
    PrimaryKey,
    Punctuated,
    Scheme,
    StreamKey,
    reference_of,
)
from penstock.model.spans import Window as TimeWindow
from penstock.model.stream import Arrival, Stream
from penstock.spark.profiling.ranks import COUNT, RISEN, VALUE, counted_below, running
from penstock.spark.profiling.reading import BATCH, BLOCK, FILE, FILE_TIME, IS_DATA, POS, ROW, ProfiledStream, ticks

NEED = "need"
_TIME, _FIRST, _LAST = "__ps_ts", "__ps_first", "__ps_last"


def needs(question: Question, streams: Mapping[str, ProfiledStream]) -> DataFrame:
    """One column, NEED: the need of each row that has one."""
    own = streams[question.stream.name]
    match question.constraint:
        case Ordered(column=column):
            return _ordered(own, column, question.need)
        case Clustered(column=column):
            return _clustered(own, column)
        case PrimaryKey(columns=columns):
            return _unique(own, columns)
        case Check(condition=condition):
            return own.data.select(_number(F.expr(conjunction(condition)) == F.lit(False)))
        case Arrival(column=column):
            value = F.col(quoted(column))
            return running(own.data, quoted(column), own.rows).select(_number(value.isNull() | (value < F.col(RISEN))))
        case Punctuated() as scheme:
            return _after_punctuation(own, scheme)
        case Follows() if question.need is NumberMeaning.ROWS:
            return _followed(own, _parent(question, streams), question)
        case Follows() | ForeignKey() | Cooccurs():
            return _referring(own, _parent(question, streams), question)
        case StreamKey():
            raise ValueError("a STREAM KEY has no need of a row")


def _parent(question: Question, streams: Mapping[str, ProfiledStream]) -> ProfiledStream:
    assert question.parent is not None
    return streams[question.parent.name]


def _number(broken: Column) -> Column:
    return F.coalesce(broken.cast("bigint"), F.lit(0)).alias(NEED)


def _ordered(own: ProfiledStream, column: str, need: NumberMeaning) -> DataFrame:
    if need is NumberMeaning.TICKS:
        timed = own.data.select(POS, ticks(own.stream, column).alias(_TIME))
        return running(timed, _TIME, own.rows).select(F.coalesce(F.col(RISEN) - F.col(_TIME), F.lit(0)).alias(NEED))
    given = own.data.select(POS, F.col(quoted(column)).alias(VALUE))
    asked = given.where(F.col(VALUE).isNotNull())
    first_larger = counted_below(running(given, VALUE, own.rows), asked, own.rows, inclusive=True)
    needed = first_larger.select(F.greatest(F.col(POS) - F.col(COUNT), F.lit(0)).alias(NEED))
    return needed.unionByName(given.where(F.col(VALUE).isNull()).select(F.lit(0).cast("bigint").alias(NEED)))


def _clustered(own: ProfiledStream, column: str) -> DataFrame:
    value = F.col(quoted(column))
    same = Window.partitionBy(value).orderBy(POS)
    others_before = F.col(POS) - F.row_number().over(same)
    ranked = own.data.select(
        value.isNull().alias("__ps_null"), others_before.alias("n"), F.min(POS).over(same).alias("f")
    )
    # Among rows of one value the first has number 1, so its count of others is f - 1.
    return ranked.select(
        F.when(F.col("__ps_null"), 0).otherwise(F.col("n") - F.col("f") + 1).cast("bigint").alias(NEED)
    )


def _unique(own: ProfiledStream, columns: tuple[str, ...]) -> DataFrame:
    values = [F.col(quoted(c)) for c in columns]
    repeats = F.row_number().over(Window.partitionBy(*values).orderBy(POS)) > 1
    missing = F.lit(False)
    for value in values:
        missing = missing | value.isNull()
    return own.data.select((repeats | missing).cast("bigint").alias(NEED))


def _after_punctuation(own: ProfiledStream, scheme: Punctuated) -> DataFrame:
    """1 where a punctuation that named the row's values came before it."""
    made = F.coalesce(F.expr(conjunction(scheme.when)), F.lit(False))
    named = [F.col(quoted(c)).alias(f"__ps_k{n}") for n, c in enumerate(scheme.columns)]
    values = [f"__ps_k{n}" for n in range(len(named))]
    place = F.struct(FILE_TIME, FILE, BLOCK, ROW)
    rows = own.every.select(*named, made.alias("__ps_made"), IS_DATA, place.alias("__ps_at"))
    told = rows.where("__ps_made").dropna(subset=values).groupBy(*values).agg(F.min("__ps_at").alias("__ps_told"))
    return rows.where(IS_DATA).join(told, values, "left").select(_number(F.col("__ps_told") < F.col("__ps_at")))


def _keys(question: Question) -> tuple[list[Column], list[Column], list[str]]:
    """The columns of the two streams that meet, under common names."""
    assert not isinstance(question.constraint, Arrival)
    reference = reference_of(question.constraint)
    assert reference is not None
    names = [f"__ps_k{n}" for n in range(len(reference.pairs))]
    mine = [F.col(quoted(a)).alias(name) for (a, _), name in zip(reference.pairs, names, strict=True)]
    theirs = [F.col(quoted(b)).alias(name) for (_, b), name in zip(reference.pairs, names, strict=True)]
    return mine, theirs, names


def _followed(own: ProfiledStream, parent: ProfiledStream, question: Question) -> DataFrame:
    mine, theirs, names = _keys(question)
    if question.by_arrival:
        assert own.stream.arrival is not None
        assert parent.stream.arrival is not None
        theirs_risen = parent.data.select(POS, F.col(quoted(parent.stream.arrival.column)).alias(VALUE))
        risen = running(theirs_risen, VALUE, parent.rows)
        places = running(own.data, quoted(own.stream.arrival.column), own.rows)
        places = places.select(*mine, F.col(RISEN).alias(VALUE))
        asked = places.where(F.col(VALUE).isNotNull())
        known = counted_below(risen, asked, parent.rows, inclusive=question.parent_first)
        nowhere = places.where(F.col(VALUE).isNull()).drop(VALUE).withColumn(COUNT, F.lit(0).cast("bigint"))
        before = known.unionByName(nowhere)
    else:
        # A micro-batch is one instant: what of the parent comes with it has arrived.
        read = F.array(*(F.lit(n).cast("bigint") for n in parent.batches or (0,)))
        last = F.least(F.col(BATCH), F.lit(len(parent.batches or (0,)) - 1))
        before = own.data.select(*mine, F.get(read, last.cast("int")).alias(COUNT))
    last_match = parent.data.select(*theirs, POS).groupBy(*names).agg(F.max(POS).alias(_LAST))
    needed = F.greatest(F.col(_LAST) + 1 - F.col(COUNT), F.lit(0))
    return before.join(last_match, names, "left").select(F.coalesce(needed, F.lit(0)).alias(NEED))


def _referring(own: ProfiledStream, parent: ProfiledStream, question: Question) -> DataFrame:
    """Constraints on when, or that, a match exists; by the first and the last match of each value."""
    mine, theirs, names = _keys(question)
    clocks = own.stream.event_time is not None and parent.stream.event_time is not None
    if clocks:
        assert own.stream.event_time is not None
        assert parent.stream.event_time is not None
        mine.append(ticks(own.stream, own.stream.event_time).alias(_TIME))
        theirs.append(ticks(parent.stream, parent.stream.event_time).alias(_LAST))
    else:
        mine.append(F.lit(0).alias(_TIME))
        theirs.append(F.lit(0).alias(_LAST))
    rows = own.data.select(POS, *mine)
    constraint = question.constraint
    window = constraint.window if isinstance(constraint, ForeignKey) else None
    if isinstance(constraint, ForeignKey) and window not in (None, TimeWindow()):
        assert window is not None
        return _without_partner(rows, parent.data.select(*theirs), names, window)
    ends = (F.min(_LAST).alias(_FIRST), F.max(_LAST).alias(_LAST), F.lit(1).alias("__ps_any"))
    matches = parent.data.select(*theirs).groupBy(*names).agg(*ends)
    met = rows.join(matches, names, "left")
    after, before = F.col(_LAST) - F.col(_TIME), F.col(_TIME) - F.col(_FIRST)
    match constraint, question.need:
        case ForeignKey(), NumberMeaning.BROKEN:
            demands = F.lit(True)
            for name in names:
                demands = demands & F.col(name).isNotNull()
            return met.select(_number(demands & F.col("__ps_any").isNull()))
        case Cooccurs(window=declared), NumberMeaning.BROKEN:
            broken = F.lit(False)
            if declared is not None and declared.low is not None:
                broken = broken | (before > -declared.low.ticks)
            if declared is not None and declared.high is not None:
                broken = broken | (after > declared.high.ticks)
            return met.select(_number(broken))
        case _, NumberMeaning.TICKS:
            return met.select(F.coalesce(F.greatest(after, F.lit(0)), F.lit(0)).alias(NEED))
        case _, NumberMeaning.BEFORE:
            return met.select(before.alias(NEED)).dropna()
        case _:
            return met.select(after.alias(NEED)).dropna()


def _without_partner(rows: DataFrame, matches: DataFrame, names: list[str], window: TimeWindow) -> DataFrame:
    """1 where no match lies in the window of a FOREIGN KEY."""
    span = F.col(_LAST) - F.col(_TIME)
    within = F.lit(True)
    if window.low is not None:
        within = within & (span >= window.low.ticks)
    if window.high is not None:
        within = within & (span <= window.high.ticks)
    demands = rows.dropna(subset=names)
    found = demands.join(matches, names).where(within).select(POS).distinct().withColumn("__ps_any", F.lit(1))
    met = demands.join(found, POS, "left")
    broken = met.select(_number(F.col("__ps_any").isNull()))
    return broken.unionByName(
        rows.join(demands.select(POS), POS, "left_anti").select(F.lit(0).cast("bigint").alias(NEED))
    )


LEVELS = (1000, 999, 990)
"""Parts of a thousand rows: 100 %, 99.9 %, 99 %."""


class NumberMeaning(StrEnum):
    """What the number of a row says."""

    BROKEN = "broken"
    """1 if the row breaks the constraint, else 0."""
    ROWS = "rows"
    """The k, in rows."""
    TICKS = "ticks"
    """The d, in ticks of event time."""
    BEFORE = "before"
    """How far before the row its earliest match lies, in ticks; negative if it lies after it. Only of rows with one."""
    AFTER = "after"
    """How far after the row its latest match lies, in ticks. Only of rows with one."""


@dataclass(frozen=True)
class Question:
    """One constraint, its k left out or declared, asked of every data row of a stream."""

    stream: Stream
    constraint: Scheme | Arrival
    need: NumberMeaning
    parent: Stream | None = None
    """The other stream that the constraint is about."""
    by_arrival: bool = False
    """Whether rows of the two are counted in the order of ARRIVES BY, and not in that of reading."""
    parent_first: bool = False
    """Whether the parent stands before the stream in FROM, which decides ties of ARRIVES BY."""
    limit: int | None = None
    """The declared k, whose violations are counted."""


@dataclass(frozen=True)
class Answer:
    """The needs of all rows, summed up."""

    rows: int
    """Rows that have a need."""
    needs: tuple[int, ...]
    """By level, the least k that so many of the rows keep."""
    broken: tuple[int, ...]
    """By level, the rows that break that k."""
    beyond: int
    """Rows whose need exceeds the declared k; 0 if none is declared."""


NOTHING_SEEN = Answer(0, (0,) * len(LEVELS), (0,) * len(LEVELS), 0)
