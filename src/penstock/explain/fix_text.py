"""What to declare, in words and in lines ready to be pasted: numbered, each under the CREATE STREAM that it goes into.

A fix is a set of declarations that is sufficient (`analysis.fixes`). The numbers run through the whole report, so that
`penstock check FILE --fix N` can be told which of them to write. One that several streams share is shown once. First
come those of clocks alone, which Spark users know as watermarks.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence, Set
from difflib import unified_diff

from penstock.analysis.finding import Bounded, Fix, Meeting, NearInTime, TimeCondition, Verdict, WindowOfGroups
from penstock.explain.block_text import of_all_blocks
from penstock.explain.ink import Ink
from penstock.model.expressions import ColumnRef
from penstock.model.names import quoted
from penstock.model.schemes import Cooccurs, Ordered
from penstock.model.spans import Span

_AUTO = "what is WITHIN AUTO is learned as the query runs: it is exact if the learned lateness holds"
_EXAMPLES = "the lengths in {} are examples"

_MOST_NAMED = 4
"""Streams that share a fix beyond these are only counted."""


def offered(verdict: Verdict) -> dict[tuple[Fix, ...], list[str]]:
    """The fixes that some states share, with the aliases of these states; those without any are under ()."""
    found: dict[tuple[Fix, ...], list[str]] = {}
    for state in of_all_blocks(verdict).streams:
        if not isinstance(state.finding, Bounded):
            fixes = state.finding.fixes if verdict.together is None else verdict.together
            found.setdefault(_ordered(_beside(verdict.near, fixes)), []).append(state.alias)
    return found


def numbered(verdicts: Iterable[Verdict]) -> list[Fix | NearInTime]:
    """All fixes of a report, each in the place of its number."""
    return [fix for verdict in verdicts for fix in numbered_of(verdict)]


def numbered_of(verdict: Verdict) -> list[Fix | NearInTime]:
    """The fixes of one query: what of time it could ask comes first."""
    near = [] if verdict.near is None else [verdict.near]
    return [*near, *(fix for fixes in shown_fixes(verdict)[0] for fix in fixes)]


def shown_fixes(verdict: Verdict) -> tuple[dict[tuple[Fix, ...], list[str]], list[str]]:
    """The fixes that are listed, by those who share them, and the states that have none.

    Fixes of a part of the state are listed only where nothing is known that bounds the whole, and one of each part.
    """
    found = offered(verdict)
    without = found.pop((), [])
    if not without and len(found) <= 1:
        return found, without
    return ({}, []) if verdict.near is not None else ({fixes[:1]: of for fixes, of in found.items()}, without)


def _beside(near: NearInTime | None, fixes: tuple[Fix, ...]) -> tuple[Fix, ...]:
    """Fixes without the one that is offered already."""
    is_known = near is not None and not near.has_length
    return tuple(fix for fix in fixes if not (is_known and near is not None and fix == near.declared))


def _ordered(fixes: tuple[Fix, ...]) -> tuple[Fix, ...]:
    """Those of clocks alone first; else as they are."""
    return tuple(sorted(fixes, key=lambda fix: not all(isinstance(scheme, Ordered) for _, scheme in fix.declarations)))


JOB_REMARK = "lengths are examples; penstock.profile(df) measures which promises the data keeps"


def job_fix_lines(fixes: Sequence[Sequence[str]], ink: Ink) -> list[str]:
    """What to write in a PySpark job: numbered, where there are several ways."""
    lines = [f"  {ink.strong('fix')}  {'one of these' if len(fixes) > 1 else 'write'}, in the job"]
    for number, written in enumerate(fixes, 1):
        for place, line in enumerate(written):
            lines += ink.wrapped(line, f"    {number if place == 0 else ' '}  ", "       ")
    return [*lines, *ink.wrapped(JOB_REMARK, "    ")]


def fix_lines(verdict: Verdict, first: int, ink: Ink) -> list[str]:
    """The fixes of a query, numbered from `first`."""
    if verdict.job_fixes:
        return job_fix_lines(verdict.job_fixes, ink)
    found, without = shown_fixes(verdict)
    near = [] if verdict.near is None else [verdict.near]
    by_hand = _by_hand(verdict, ink)
    if not found and not near:
        return [*_headed(none_known(without), ink), *by_hand, *_budget(verdict, ink)] if without else []
    last = first + len(near) + sum(map(len, found)) - 1
    views = {block.name for block in verdict.blocks}
    is_whole = not without and len(found) <= 1
    lines = _headed(_which(first, last, is_whole=is_whole), ink)
    width = len(str(last))
    number = first
    for one in near:
        lines += _near(one, f"    {number:>{width}}  ", views, ink)
        number += 1
    for fixes, aliases in found.items():
        if not is_whole:
            lines += ink.wrapped(f"for {listed(aliases, _MOST_NAMED)}", "    ")
        for fix in fixes:
            lines += declared_lines(fix, f"    {number:>{width}}  ", views, ink)
            number += 1
    for remark in remarks_on(numbered_of(verdict), first):
        lines += ink.wrapped(remark, "    ")
    if without:
        lines += ink.wrapped(f"these alone do not bound the query: {none_known(without)}", "    ")
    return [*lines, *by_hand, *_budget(verdict, ink)]


def _by_hand(verdict: Verdict, ink: Ink) -> list[str]:
    """What of time would bound the query, where nobody but the user can say where it goes."""
    if verdict.by_hand is None:
        return []
    views = {block.name for block in verdict.blocks}
    said = "by hand, where streams meet through a query: compare the times that it selects"
    return [*ink.wrapped(said, "    "), *_near(verdict.by_hand, "       ", views, ink)]


def _which(first: int, last: int, *, is_whole: bool) -> str:
    """How many of the fixes are to be taken, and who writes them: none is called enough that leaves the query open."""
    if not is_whole:
        return "no one of these bounds the query: each bounds a part of its state"
    if first == last:
        return f"this; `penstock check FILE --fix {first}` writes it"
    return f"one of these; `penstock check FILE --fix N` writes the N-th, {first} to {last}"


BUDGET = "or SELECT /*+ BUDGET(1 GB) */ …: the state stays within it, with the least loss"
JOB_BUDGET = 'or penstock.adopt(df, budget="1 GB"): the state stays within it, with the least loss'
_OURS = ("(groups)", "(distinct)")
"""What is kept beside streams; of a job, anything else in parentheses is kept by Spark."""


def near_texts(near: NearInTime) -> dict[str, list[str]]:
    """What of time the query would ask: by where and under which condition, the texts; the reader judges whether so."""
    found: dict[str, list[str]] = {}
    for one in near.conditions:
        where = {Meeting.WHERE: "the query", Meeting.ON: f"the ON of {one.theirs.alias}"}
        place = where.get(one.meeting, f"the EXISTS of {one.theirs.alias}")
        of = f" of {one.block}" if one.block else ""
        said = found.setdefault(f"in {place}{of}, if rows that match lie near in time:", [])
        said.append(f"AND {near_text(one, near.apart)}")
    for window in near.windows:
        of = f" of {window.block}" if window.block else ""
        said = found.setdefault(f"in the query{of}, if groups by time will do:", [])
        said.append(f"GROUP BY …, {window_text(window, near.apart)}")
    return found


def near_text(one: TimeCondition, apart: Span) -> str:
    """That two times lie near each other, as far as the query does not say so."""
    length = f"INTERVAL {apart}" if apart.unit is not None else str(apart)
    theirs, ours = _spelt(one.theirs), _spelt(one.ours)
    if one.is_after:
        return f"{theirs} <= {ours} + {length}"
    if one.is_before:
        return f"{theirs} >= {ours} - {length}"
    return f"{theirs} BETWEEN {ours} - {length} AND {ours} + {length}"


def _spelt(ref: ColumnRef) -> str:
    """A column as people write it: an end of a window is a field."""
    name, _, end = ref.column.rpartition(".")
    return f"{ref.alias}.{quoted(name)}.{end}" if name and end in ("start", "end") else str(ref)


def window_text(one: WindowOfGroups, apart: Span) -> str:
    """A window of time to group by."""
    return f"window({one.time}, '{str(apart).lower()}')"


def _near(near: NearInTime, lead: str, views: Set[str], ink: Ink) -> list[str]:
    """What a Spark user tries first: a condition on the times, or a window, and a watermark for each stream."""
    lines: list[str] = []
    blank = " " * len(lead)
    for place, texts in near_texts(near).items():
        lines += ink.wrapped(place, blank if lines else lead, blank)
        for text in texts:
            lines += ink.wrapped(text, f"{blank}  ", f"{blank}    ")
    return lines + declared_lines(near.declared, blank if lines else lead, views, ink)


def budget_offer(verdict: Verdict) -> str | None:
    """A budget, the last resort: it is of the outermost SELECT, so what is open below stays open; nor is it Spark's."""
    if any(block.verdict.verdict != "bounded" for block in verdict.blocks):
        return None
    if verdict.job_fixes is None:
        return BUDGET
    open_ends = [state.alias for state in verdict.streams if not isinstance(state.finding, Bounded)]
    return None if any(alias.startswith("(") and alias not in _OURS for alias in open_ends) else JOB_BUDGET


def _budget(verdict: Verdict, ink: Ink) -> list[str]:
    offer = budget_offer(verdict)
    return [] if offer is None else ink.wrapped(offer, "    ")


def none_known(without: Sequence[str]) -> str:
    """That nothing can be offered for some states."""
    return f"no fix was found that can be written out for the state of {listed(without)}; see why"


def _headed(text: str, ink: Ink) -> list[str]:
    first, *rest = ink.wrapped(text, "  fix  ")
    return [first.replace("fix", ink.strong("fix"), 1), *rest]


def declared_lines(fix: Fix, lead: str, views: Set[str], ink: Ink) -> list[str]:
    """The declarations of a fix, by the stream or view that declares them."""
    lines: list[str] = []
    by_stream = {
        f"CREATE {'VIEW' if stream in views else 'STREAM'} {quoted(stream)}": schemes
        for stream, schemes in fix.by_stream.items()
    }
    width = max(map(len, by_stream), default=0)
    for stream, schemes in by_stream.items():
        head = f"{lead if not lines else ' ' * len(lead)}{stream:<{width}} (… "
        for number, scheme in enumerate(schemes):
            close = ")" if number == len(schemes) - 1 else ""
            start = head if number == 0 else " " * len(head)
            lines += ink.wrapped(f", {scheme.text}{close}", start, " " * (len(head) + 2))
    return lines


def remarks_on(fixes: Sequence[Fix | NearInTime], first: int = 1) -> list[str]:
    """What some fixes leave open, numbered from `first`."""
    declared = [fix.declared if isinstance(fix, NearInTime) else fix for fix in fixes]
    remarks = [_AUTO] if any(" WITHIN AUTO" in str(fix) for fix in declared) else []
    wanting = [str(number) for number, fix in enumerate(fixes, first) if wants_length(fix)]
    if not wanting:
        return remarks
    lengths = f"the length in {wanting[0]} is an example" if len(wanting) == 1 else _EXAMPLES.format(listed(wanting))
    example = "2000" if any(is_number(fix) for fix in fixes) else "'2 HOURS'"
    return [*remarks, f"{lengths}: `penstock check FILE --fix {wanting[0]} --within {example}` writes yours"]


def is_number(fix: Fix | NearInTime) -> bool:
    """Whether the length that it holds is of event times that are whole numbers."""
    if isinstance(fix, NearInTime):
        return fix.has_length and fix.apart.unit is None
    windows = [scheme.window for _, scheme in fix.declarations if isinstance(scheme, Cooccurs)]
    return any(window and window.high is not None and window.high.unit is None for window in windows)


def wants_length(fix: Fix | NearInTime) -> bool:
    """Whether a fix holds a length that nobody but the user knows."""
    if isinstance(fix, NearInTime):
        return fix.has_length
    return any(isinstance(scheme, Cooccurs) for _, scheme in fix.declarations)


def length_meant(fix: Fix | NearInTime) -> str:
    """What the length of a fix is the length of."""
    apart = "how far apart in time rows that match may lie (`penstock profile` measures it)"
    if not isinstance(fix, NearInTime) or not fix.windows:
        return apart
    return "how long a window of the groups is" if not fix.conditions else f"{apart}, and how long a window is"


def listed(names: Sequence[str], most: int | None = None) -> str:
    """`a, b and c`; beyond `most` only how many they are."""
    if most is not None and len(names) > most:
        return f"{len(names)} streams"
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}" if names else "the query"


def difference(before: str, after: str, file: str, ink: Ink) -> list[str]:
    """What a text has more than before, line by line as `diff -u` shows it."""
    texts, files = (before.splitlines(), after.splitlines()), (f"{file} as it is", f"{file} with the fix")
    lines = unified_diff(*texts, *files, lineterm="", n=2)
    return [ink.verdict("bounded", line) if line.startswith("+") else line for line in lines]
