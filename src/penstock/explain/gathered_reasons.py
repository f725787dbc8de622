"""The reasons of several pieces of state, each told once with all that it is a reason for.

In a join of eight streams one missing watermark is a reason for seven of them. Alike reasons become one: the same
words; what is said of one stream or of its columns, said of several; and waiting for the same stream because its times
are not ordered, where the conditions that would limit the wait differ from stream to stream. The order is that in which
each is first met, what can be said of all of them last. Nothing is left out but those conditions, which `--json` has
for each stream, and what the caller tells elsewhere.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Sequence

from penstock.analysis.finding import StateFinding
from penstock.analysis.reasons import About, Reason, ReasonKind, Told, WhyOpen
from penstock.explain.reason_words import told
from penstock.records import record

_OF_ONE = (WhyOpen.WINDOW_WOULD_TOO, WhyOpen.WINDOW_WOULD_BOUND, WhyOpen.ENDLESS_COLUMNS_UNMERGED)
"""What is said of one stream, or of its columns, and can be said of several at once."""


@record
class SharedReason:
    """A reason in words, and the aliases that it is a reason for."""

    text: str
    of: tuple[str, ...]


def gathered(states: Sequence[StateFinding], *, without: Container[ReasonKind] = ()) -> list[SharedReason]:
    """The reasons of these states, each once; `without` those that are told elsewhere."""
    alike: dict[object, list[tuple[Told, str]]] = {}
    for state in states:
        for reason in state.finding.because:
            if isinstance(reason, Reason) and reason.kind in without:
                continue
            alike.setdefault(_what_is_alike(reason), []).append((reason, state.alias))
    found: dict[str, list[str]] = {}
    for _, reasons in sorted(alike.items(), key=lambda item: item[0] in _OF_ONE):
        aliases = list(dict.fromkeys(alias for _, alias in reasons))
        found.setdefault(told(_as_one([reason for reason, _ in reasons], aliases)), []).extend(aliases)
    return [SharedReason(text, tuple(dict.fromkeys(of))) for text, of in found.items()]


def by_those_concerned(shared: Iterable[SharedReason]) -> Iterator[tuple[tuple[str, ...], list[str]]]:
    """The reasons that are of the same states, together."""
    groups: dict[tuple[str, ...], list[str]] = {}
    for one in shared:
        groups.setdefault(one.of, []).append(one.text)
    return iter(groups.items())


def _what_is_alike(reason: Told) -> object:
    match reason:
        case Reason(kind=WhyOpen.WAITS_FOR_UNORDERED, about=(_, target, _, time)):
            return (reason.kind, target, time)
        case Reason(kind=kind) if kind in _OF_ONE:
            return kind
        case _:
            return reason


def _as_one(reasons: Sequence[Told], aliases: Sequence[str]) -> Told:
    first = reasons[0]
    if not isinstance(first, Reason) or len(reasons) == 1:
        return first
    if first.kind is WhyOpen.WAITS_FOR_UNORDERED:
        _, target, _, time = first.about
        return WhyOpen.WAIT_FOR_UNORDERED(aliases, target, time) if len(aliases) > 1 else first
    if first.kind in _OF_ONE:
        about: list[About] = []
        for reason in reasons:
            assert isinstance(reason, Reason)
            about += reason.about[0] if isinstance(reason.about[0], tuple) else [reason.about[0]]
        return first.kind(about)
    return first
