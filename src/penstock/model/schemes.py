"""Promise schemes: one frozen type for each declaration (DESIGN section 1).

A scheme says which promises will be made about future tuples of a stream, and when. `text` is the constraint as
`CREATE STREAM` and `penstock implies` read it; what was left out stays left out, so that a message shows what the user
wrote.
"""

from __future__ import annotations

from enum import StrEnum

from penstock.model.names import quoted, quoted_list
from penstock.model.predicates import Predicate, conjunction, written
from penstock.model.spans import Rows, Span, Window, Within
from penstock.records import record


class Policy(StrEnum):
    """What to do with a row that breaks a promise."""

    FAIL = "FAIL"
    ADAPT = "ADAPT"
    QUARANTINE = "QUARANTINE"
    TRUST = "TRUST"
    RECOVER = "RECOVER"


@record
class OnViolation:
    """`ON VIOLATION …`; `into` is the sink of a QUARANTINE, None for a folder of the checkpoint."""

    policy: Policy
    into: str | None = None

    def __post_init__(self) -> None:
        if self.into is not None and self.policy is not Policy.QUARANTINE:
            raise ValueError("only QUARANTINE writes INTO a sink")

    @property
    def text(self) -> str:
        """The clause."""
        return f"ON VIOLATION {self.policy}" + (f" INTO {quoted(self.into)}" if self.into else "")


@record
class _Scheme:
    """What all schemes share."""

    @property
    def text(self) -> str:
        """The constraint, without ON VIOLATION."""
        raise NotImplementedError

    @property
    def own_columns(self) -> tuple[str, ...]:
        """The columns of the declaring stream that it names."""
        raise NotImplementedError

    def on(self, stream: str) -> str:
        """The constraint as `implies`, the fixes and the metrics spell it."""
        return f"{self.text} ON {quoted(stream)}"


def _within(within: Within | None) -> str:
    return "" if within is None else f" WITHIN {within}"


def _window(window: Window | None) -> str:
    return "" if window is None else f" WINDOW {window}"


def _some(columns: tuple[str, ...]) -> None:
    if not columns:
        raise ValueError("a constraint on columns names at least one")


def _same_length(own: tuple[str, ...], others: tuple[str, ...]) -> None:
    _some(own)
    if len(own) != len(others):
        raise ValueError(f"{len(own)} columns cannot be paired with {len(others)}")


@record
class PrimaryKey(_Scheme):
    """No two tuples agree on the columns: `columns = v` is closed once v arrived."""

    columns: tuple[str, ...]
    on_violation: OnViolation | None = None

    def __post_init__(self) -> None:
        _some(self.columns)

    @property
    def text(self) -> str:
        """See _Scheme."""
        return f"PRIMARY KEY {quoted_list(self.columns)}"

    @property
    def own_columns(self) -> tuple[str, ...]:
        """See _Scheme."""
        return self.columns


@record
class Ordered(_Scheme):
    """OA(k), or a watermark: values below the k-th last maximum, or below max - d, are closed."""

    column: str
    within: Within | None = None
    on_violation: OnViolation | None = None

    @property
    def text(self) -> str:
        """See _Scheme."""
        return f"ORDERED BY {quoted(self.column)}{_within(self.within)}"

    @property
    def own_columns(self) -> tuple[str, ...]:
        """See _Scheme."""
        return (self.column,)

    @property
    def slack(self) -> Within:
        """The k or d in force."""
        return Rows(0) if self.within is None else self.within


@record
class Clustered(_Scheme):
    """CA(k): a value seen is closed once more than k tuples of other values followed its first."""

    column: str
    within: Within | None = None
    on_violation: OnViolation | None = None

    @property
    def text(self) -> str:
        """See _Scheme."""
        return f"CLUSTERED BY {quoted(self.column)}{_within(self.within)}"

    @property
    def own_columns(self) -> tuple[str, ...]:
        """See _Scheme."""
        return (self.column,)

    @property
    def slack(self) -> Within:
        """The k in force."""
        return Rows(0) if self.within is None else self.within


@record
class Follows(_Scheme):
    """RIDS(k): whatever of `parent` matches a tuple s has arrived k tuples of `parent` (or a span) after s."""

    parent: str
    parent_columns: tuple[str, ...]
    columns: tuple[str, ...]
    within: Within | None = None
    on_violation: OnViolation | None = None

    def __post_init__(self) -> None:
        _same_length(self.columns, self.parent_columns)

    @property
    def text(self) -> str:
        """See _Scheme."""
        return (
            f"FOLLOWS {quoted(self.parent)} {quoted_list(self.parent_columns)} "
            f"ON {quoted_list(self.columns)}{_within(self.within)}"
        )

    @property
    def own_columns(self) -> tuple[str, ...]:
        """See _Scheme."""
        return self.columns

    @property
    def slack(self) -> Within:
        """The k or d in force."""
        return Rows(0) if self.within is None else self.within


@record
class ForeignKey(_Scheme):
    """Every tuple has a partner in `parent`, within the window; closes nothing by itself."""

    columns: tuple[str, ...]
    parent: str
    parent_columns: tuple[str, ...]
    window: Window | None = None
    on_violation: OnViolation | None = None

    def __post_init__(self) -> None:
        _same_length(self.columns, self.parent_columns)

    @property
    def text(self) -> str:
        """See _Scheme."""
        return (
            f"FOREIGN KEY {quoted_list(self.columns)} REFERENCES {quoted(self.parent)} "
            f"{quoted_list(self.parent_columns)}{_window(self.window)}"
        )

    @property
    def own_columns(self) -> tuple[str, ...]:
        """See _Scheme."""
        return self.columns


@record
class StreamKey(_Scheme):
    """Tuples of the two streams that agree on the columns within the window agree on all that both have but time."""

    columns: tuple[str, ...]
    spans: str
    spanned_columns: tuple[str, ...]
    """The same columns, as the other stream spells them."""
    window: Window | None = None
    on_violation: OnViolation | None = None

    def __post_init__(self) -> None:
        _same_length(self.columns, self.spanned_columns)

    @property
    def text(self) -> str:
        """See _Scheme."""
        return f"STREAM KEY {quoted_list(self.columns)} SPANS {quoted(self.spans)}{_window(self.window)}"

    @property
    def own_columns(self) -> tuple[str, ...]:
        """See _Scheme."""
        return self.columns


@record
class Cooccurs(_Scheme):
    """Every match of the columns lies in the window: a time band, usable from both sides."""

    columns: tuple[str, ...]
    other: str
    other_columns: tuple[str, ...]
    window: Window | None = None
    on_violation: OnViolation | None = None

    def __post_init__(self) -> None:
        _same_length(self.columns, self.other_columns)

    @property
    def text(self) -> str:
        """See _Scheme."""
        return (
            f"COOCCURS {quoted_list(self.columns)} AND {quoted(self.other)} "
            f"{quoted_list(self.other_columns)}{_window(self.window)}"
        )

    @property
    def own_columns(self) -> tuple[str, ...]:
        """See _Scheme."""
        return self.columns


@record
class Punctuated(_Scheme):
    """Rows that satisfy `when` are punctuations: they close their values of the columns."""

    columns: tuple[str, ...]
    when: tuple[Predicate, ...]
    lifespan: Span | None = None
    on_violation: OnViolation | None = None

    def __post_init__(self) -> None:
        _some(self.columns)
        if not self.when:
            raise ValueError("WHEN is true of every row: the stream would hold no data")
        if self.lifespan is not None and self.lifespan.ticks <= 0:
            raise ValueError("a LIFESPAN must be longer than 0")

    @property
    def text(self) -> str:
        """See _Scheme."""
        lifespan = "" if self.lifespan is None else f" LIFESPAN {self.lifespan}"
        return f"PUNCTUATED ON {quoted_list(self.columns)} WHEN {conjunction(self.when)}{lifespan}"

    @property
    def own_columns(self) -> tuple[str, ...]:
        """See _Scheme."""
        return self.columns + tuple(ref.column for p in self.when for ref in p.columns)


@record
class Check(_Scheme):
    """A condition that no row makes false; it may bound a domain."""

    condition: tuple[Predicate, ...]
    on_violation: OnViolation | None = None

    def __post_init__(self) -> None:
        if not self.condition:
            raise ValueError("a CHECK has a condition")

    @property
    def text(self) -> str:
        """See _Scheme."""
        return f"CHECK ({conjunction(self.condition)})"

    def as_written(self, stream: str) -> str:
        """The constraint in the user's own words, as findings quote it: a BETWEEN stays one."""
        words = dict.fromkeys(written(predicate) for predicate in self.condition)
        return f"CHECK ({' AND '.join(words)}) ON {quoted(stream)}"

    @property
    def own_columns(self) -> tuple[str, ...]:
        """See _Scheme."""
        return tuple(ref.column for p in self.condition for ref in p.columns)


Scheme = PrimaryKey | Ordered | Clustered | Follows | ForeignKey | StreamKey | Cooccurs | Punctuated | Check


@record
class NamedTime:
    """`EVENT TIME ts`, as something that a stream should declare: no promise, but what promises of time are about."""

    column: str

    @property
    def text(self) -> str:
        """The element of CREATE STREAM."""
        return f"EVENT TIME {quoted(self.column)}"

    def on(self, stream: str) -> str:
        """With the stream, as constraints are spelled."""
        return f"{self.text} ON {quoted(stream)}"


@record
class Reference:
    """The other stream that a scheme is about, and the pairs of columns it ties together."""

    stream: str
    pairs: tuple[tuple[str, str], ...]
    """(own column, the other stream's column)."""


def reference_of(scheme: Scheme) -> Reference | None:
    """What another stream a scheme refers to, if any."""
    match scheme:
        case Follows():
            return Reference(scheme.parent, tuple(zip(scheme.columns, scheme.parent_columns, strict=True)))
        case ForeignKey():
            return Reference(scheme.parent, tuple(zip(scheme.columns, scheme.parent_columns, strict=True)))
        case Cooccurs():
            return Reference(scheme.other, tuple(zip(scheme.columns, scheme.other_columns, strict=True)))
        case StreamKey():
            return Reference(scheme.spans, tuple(zip(scheme.columns, scheme.spanned_columns, strict=True)))
        case _:
            return None
