"""Which declarations close which stream for whose rows? The edges of SAFETY's graphs, one function for each kind.

A closing says: wherever rows of some sources stand together, no future row of `target` can match them in the end, on
any input that keeps its promises and whose streams move on. Each of its `needs` names the sources any one of which
will do, so one closing stands for a generalized edge for every choice of partners (ERRATA, SAFETY), and one need is a
plain edge of Definition 7. There is a closing when

- the two never stand together;
- the target is ORDERED BY a column a, and `target.a - i.x` has an upper limit for a column x of i: a band, a window,
  an equality or a comparison;
- i declares FOLLOWS towards it in rows, and the equalities tie all its columns;
- it is PUNCTUATED ON columns each of which equals one of a source, or takes finitely many values: the scheme (A, X)
  with X tied to nothing closes nothing (ERRATA);
- it has a PRIMARY KEY, or is CLUSTERED BY a column, that i names, and a FOREIGN KEY of i guarantees that the value
  arrives; in a self-join on these columns the row itself did. Without that they close only what they have seen;
- i has [ROWS n]: what a row of i holds together is out of reach once n more arrived, whatever the target.

Preconditions: equalities and bands are those that hold where the sources stand together. A stream moves on when its
clock, each ORDERED column and each cluster pass every value; a column with a largest value (limits.py) or with a
finite domain under CLUSTERED cannot, and gives no edge. A WHEN that reads a column of ON closes only some values, and
gives none either. Not decided: what filters on the target alone add, such as `target.ts < constant`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum

from penstock.analysis.bands import tied
from penstock.analysis.combination import Combination, Combinations
from penstock.analysis.domains import contradiction, declared_domain
from penstock.analysis.facts.differences import Limit
from penstock.analysis.limits import never_passes
from penstock.model.clauses import RowsWindow, Source
from penstock.model.expressions import ColumnRef
from penstock.model.names import quoted
from penstock.model.predicates import NullTest
from penstock.model.schemes import Clustered, Follows, ForeignKey, Ordered, PrimaryKey, Punctuated, Scheme, reference_of
from penstock.model.spans import Auto, Rows, Span, span_of_ticks
from penstock.model.stream import Stream

Missing = tuple[str, Scheme]
"""A declaration that a stream does not make: the stream's name, and the scheme."""


class Way(IntEnum):
    """How a closing works; the order is the order of preference."""

    NEVER = 0
    CLOCK = 1
    KEY = 2
    FOLLOWS = 3
    PUNCTUATION = 4
    CLUSTER = 5
    ORDER = 6
    WINDOW = 7


@dataclass(frozen=True)
class Passage:
    """The target is closed once its column `ordered` has passed `start + limit`, `start` a column of the source."""

    ordered: ColumnRef
    start: ColumnRef
    limit: Limit
    reasons: tuple[str, ...]
    """What limits it."""


@dataclass(frozen=True)
class Closing:
    """One way in which a target is closed, and for whom."""

    target: str
    needs: tuple[tuple[str, ...], ...]
    """For each, one of these sources must be among those that stand together."""
    way: Way
    wait: str
    """What must happen first, as the end of "a row leaves once …"; empty where it depends on who carries the values."""
    because: tuple[str, ...]
    missing: tuple[Missing, ...] = ()
    """The declarations that would make this a closing; none if it is one."""
    scheme: Scheme | None = None
    """The declaration that closes, if it is a single one."""
    passage: Passage | None = None
    """The ordered column that must pass, if that is what closes."""
    carried: tuple[tuple[ColumnRef, tuple[ColumnRef, ...]], ...] = ()
    """For a punctuation: each of its columns, and the columns of others that equal it; one for each need."""
    certain: bool = True
    """Whether it closes every value in the end; if not, only values that did arrive."""


def declared_closings(combinations: Combinations, target: Source) -> Iterator[Closing]:
    """Every way in which the declarations close a source, the uncertain ones included."""
    for scheme in target.stream.schemes:
        if isinstance(scheme, Punctuated):
            yield from _punctuated(combinations, target, scheme)
    for own in combinations.query.all_sources:
        if own.alias == target.alias:
            continue
        here = combinations.of(own.alias, target.alias)
        if here.impossible:
            wait = f"it was read, for no row of {target.alias} ever matches it"
            yield Closing(target.alias, ((own.alias,),), Way.NEVER, wait, here.impossible)
            continue
        yield from _ordered(own, target, here)
        yield from _followed(combinations, own, target, here)
        yield from _keyed(own, target, here)
        if isinstance(own.window, RowsWindow):
            count = own.window.count
            wait = f"{count} more {'rows' if count > 1 else 'row'} of {own.alias} have arrived"
            because = (f"{own.window} on {own.alias}: a row is out of reach once {count} more arrived",)
            yield Closing(target.alias, ((own.alias,),), Way.WINDOW, wait, because)


def carriers(combinations: Combinations, column: ColumnRef) -> tuple[ColumnRef, ...]:
    """The columns of other sources that equal a column wherever the two sources stand together."""
    # Sources that are in every result share one combination: each class is looked at once.
    groups: dict[int, tuple[Combination, set[str]]] = {}
    for other in combinations.query.all_sources:
        if other.alias != column.alias:
            here = combinations.of(other.alias, column.alias)
            groups.setdefault(id(here), (here, set()))[1].add(other.alias)
    found = [
        ref for here, aliases in groups.values() for ref in here.equalities.class_of(column) if ref.alias in aliases
    ]
    return tuple(found)


def shared_columns(here: Combination, own: str, other: str) -> tuple[tuple[str, str], ...]:
    """One pair of columns for each equality class that the two sources share."""
    mine, theirs = here.keys.get(own, {}), here.keys.get(other, {})
    return tuple(sorted((mine[number], theirs[number]) for number in mine if number in theirs))


def limit_on(own: Source, other: ColumnRef, here: Combination) -> tuple[ColumnRef, Limit] | None:
    """A column of a source, its event time if that will do, above which the other column never lies too far."""
    for ref in here.touched(own):
        limit = here.bands.upper(other, ref)
        if limit is not None:
            return ref, limit
    return None


def stalled(own: Source, other: Source, here: Combination) -> Iterator[str]:
    """The ordered columns of a source that would close it for another's rows, and why they do not get there."""
    for column in other.stream.carried:
        ref = ColumnRef(other.alias, column.name)
        is_ordered = ref == other.event_time or other.stream.ordering(column.name)
        if is_ordered and here.bands.touches(ref) and limit_on(own, ref, here) is not None:
            limit = never_passes(other.stream, column.name)
            if limit is not None:
                yield f"{ref} {limit}"


def order_text(stream: Stream, scheme: Ordered) -> str:
    """The declaration by which a column is ordered, as it was written."""
    if scheme in stream.schemes:
        return scheme.on(stream.name)
    assert stream.arrival is not None
    return stream.arrival.on(stream.name)


def passages(
    own: Source, target: Source, here: Combination, ordered: bool = False
) -> Iterator[tuple[Way, Passage, str]]:
    """The columns of a target that lie only so far above one of a source, and so close it if they are ordered.

    With `ordered`, only those that are.
    """
    for ref in here.touched(target):
        if ordered and not target.stream.ordering(ref.column):
            continue
        kind = target.stream.type_of(ref.column)
        found = limit_on(own, ref, here)
        if kind is None or found is None or never_passes(target.stream, ref.column) is not None:
            continue
        passage = Passage(ref, *found, here.bands.reasons(ref, found[0]))
        wait = f"{ref} has passed {_shifted(*found, kind.is_instant)}"
        yield (Way.CLOCK if ref == target.event_time else Way.ORDER), passage, wait


@dataclass(frozen=True)
class Guarantee:
    """What makes sure that the values which a source carries in `own` arrive in those columns of the target.

    Of several columns that the query makes equal only these will do: a row in which they differ is in no result, and
    what it carries in the others may never arrive.
    """

    own: tuple[str, ...]
    text: str


def guarantee(own: Source, target: Source, here: Combination, columns: tuple[str, ...]) -> Guarantee | None:
    """What makes sure that the value a source names in these columns of the target arrives; None if nothing does."""
    if own.stream == target.stream and all(
        here.equalities.equal(ColumnRef(own.alias, c), ColumnRef(target.alias, c)) for c in columns
    ):
        return Guarantee(columns, f"the row of {own.alias} is itself a row of {target.stream.name}")
    for scheme in own.stream.schemes:
        if not isinstance(scheme, ForeignKey) or scheme.parent != target.stream.name:
            continue
        named = dict(zip(scheme.parent_columns, scheme.columns, strict=True))
        # A NULL in any of its columns demands nothing.
        demands = all(not _may_be_null(own, column, here) for column in scheme.columns)
        if demands and all(
            c in named and here.equalities.equal(ColumnRef(own.alias, named[c]), ColumnRef(target.alias, c))
            for c in columns
        ):
            return Guarantee(tuple(named[c] for c in columns), scheme.on(own.stream.name))
    return None


def _ordered(own: Source, target: Source, here: Combination) -> Iterator[Closing]:
    for way, passage, wait in passages(own, target, here, ordered=True):
        declared = target.stream.ordering(passage.ordered.column)
        if declared:
            because = (*passage.reasons, order_text(target.stream, declared[0]))
            yield Closing(target.alias, ((own.alias,),), way, wait, because, scheme=declared[0], passage=passage)


def _followed(combinations: Combinations, own: Source, target: Source, here: Combination) -> Iterator[Closing]:
    for scheme in own.stream.schemes:
        reference = reference_of(scheme)
        if not isinstance(scheme, Follows) or reference is None or isinstance(scheme.slack, Span):
            continue
        if tied(combinations.query, here.equalities, own.alias, target.alias, reference):
            wait = _counted(scheme.slack, target.alias)
            because = (scheme.on(own.stream.name),)
            yield Closing(target.alias, ((own.alias,),), Way.FOLLOWS, wait, because, scheme=scheme)


def _keyed(own: Source, target: Source, here: Combination) -> Iterator[Closing]:
    for scheme in target.stream.schemes:
        if not isinstance(scheme, PrimaryKey | Clustered):
            continue
        columns = scheme.columns if isinstance(scheme, PrimaryKey) else (scheme.column,)
        names = [
            [r for r in here.equalities.class_of(ColumnRef(target.alias, c)) if r.alias == own.alias] for c in columns
        ]
        if not all(names):
            continue
        sure = guarantee(own, target, here, columns)
        text = scheme.on(target.stream.name)
        if isinstance(scheme, PrimaryKey):
            wait = f"the row of {target.alias} that it names has arrived"
            yield Closing(
                target.alias,
                ((own.alias,),),
                Way.KEY,
                wait,
                (text, *([sure.text] if sure else [])),
                scheme=scheme,
                certain=sure is not None,
            )
        else:
            can_move = declared_domain(target.stream, scheme.column).size is None
            wait = (
                f"the rows of {target.alias} with its {quoted(scheme.column)} have come and others have followed them"
            )
            yield Closing(
                target.alias,
                ((own.alias,),),
                Way.CLUSTER,
                wait,
                (text, *([sure.text] if sure else [])),
                scheme=scheme,
                certain=sure is not None and can_move,
            )


def _punctuated(combinations: Combinations, target: Source, scheme: Punctuated) -> Iterator[Closing]:
    if narrowed(scheme, target.stream) is not None:
        return
    carried: list[tuple[ColumnRef, tuple[ColumnRef, ...]]] = []
    few: list[str] = []
    for column in scheme.columns:
        ref = ColumnRef(target.alias, column)
        equal = carriers(combinations, ref)
        domain = combinations.of(target.alias).domain(ref)
        if equal:
            carried.append((ref, equal))
        elif domain.size is not None and not domain.nullable:
            # A punctuation with a NULL promises nothing, so rows with a NULL there may always come.
            values = "1 value, which is" if domain.size == 1 else f"{domain.size} values, each of which is"
            few.append(f"{ref} takes at most {values} punctuated")
        else:
            return
    if carried:
        needs = tuple(tuple(dict.fromkeys(r.alias for r in equal)) for _, equal in carried)
        because = (scheme.on(target.stream.name), *few)
        yield Closing(target.alias, needs, Way.PUNCTUATION, "", because, scheme=scheme, carried=tuple(carried))


def narrowed(scheme: Punctuated, stream: Stream) -> str | None:
    """Why a scheme does not close every value of its columns, if it does not."""
    conflict = contradiction(stream, (*stream.where, *scheme.when))
    if conflict is not None:
        return f"no such punctuation can come: no row of {stream.name} has {conflict}"
    for predicate in scheme.when:
        match predicate:
            case NullTest(column=named, is_null=False) if named.column in scheme.columns:
                continue
        read = {root for ref in predicate.columns for root in _roots(stream, ref.column)}
        for column in scheme.columns:
            if read & _roots(stream, column):
                return (
                    f"only rows with {predicate} are punctuations, so other values of {quoted(column)} are never closed"
                )
    return None


def _roots(stream: Stream, column: str) -> frozenset[str]:
    """The columns of the data that a column is made of: itself, if it is not derived."""
    found = stream.column(column)
    if found is None or found.derived is None:
        return frozenset({column})
    return frozenset(root for ref in found.derived.columns for root in _roots(stream, ref.column))


def _may_be_null(own: Source, column: str, here: Combination) -> bool:
    found = own.stream.column(column)
    return found is None or found.is_virtual or here.domain(ColumnRef(own.alias, found.name)).nullable


def _shifted(start: ColumnRef, limit: Limit, instants: bool) -> str:
    if limit.ticks == 0:
        return str(start)
    return f"{start} {'+' if limit.ticks > 0 else '-'} {span_of_ticks(abs(limit.ticks), instants)}"


def _counted(within: Rows | Auto | Span, alias: str) -> str:
    match within:
        case Rows(count=0):
            return f"its batch is done, for every row of {alias} that matches it came before"
        case Rows(count=1):
            return f"1 more row of {alias} has arrived"
        case Rows(count=count):
            return f"{count} more rows of {alias} have arrived"
        case _:
            return f"so many more rows of {alias} have arrived as the k that is learned"
