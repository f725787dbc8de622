"""What to declare, in words and in lines ready to be pasted: numbered, each under the CREATE STREAM that it goes into.

A fix is a set of declarations that is sufficient (`analysis.fixes`). The numbers run through the whole report, so that
`penstock check FILE --fix N` can be told which of them to write. One that several streams share is shown once. First
come those of clocks alone, which Spark users know as watermarks.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from difflib import unified_diff

from penstock.analysis.finding import Bounded, Fix, NearInTime, Verdict
from penstock.explain.block_text import of_all_blocks
from penstock.explain.ink import Ink
from penstock.model.names import quoted
from penstock.model.schemes import Ordered

_REMARKS = {
    " WITHIN AUTO": "what is WITHIN AUTO is learned as the query runs: it is exact if the learned lateness holds",
    "COOCCURS ": "the window of COOCCURS is an example: declare the one that `penstock profile` measures",
}
"""What a fix leaves open, by a word in it."""

_MOST_NAMED = 4
"""Streams that share a fix beyond these are only counted."""


def offered(verdict: Verdict) -> dict[tuple[Fix, ...], list[str]]:
    """The fixes that some states share, with the aliases of these states; those without any are under ()."""
    found: dict[tuple[Fix, ...], list[str]] = {}
    for state in of_all_blocks(verdict).streams:
        if not isinstance(state.finding, Bounded):
            found.setdefault(_ordered(state.finding.fixes), []).append(state.alias)
    return found


def numbered(verdicts: Iterable[Verdict]) -> list[Fix]:
    """All fixes of a report, each in the place of its number."""
    return [fix for verdict in verdicts for fixes in offered(verdict) for fix in fixes]


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
    found = offered(verdict)
    without = found.pop((), [])
    if not found:
        return [*_headed(none_known(without), ink), *_near(verdict, ink), *_budget(verdict, ink)] if without else []
    many = sum(map(len, found))
    views = {block.name for block in verdict.blocks}
    lines = _headed(_which(found, without, first), ink)
    lines += _near(verdict, ink)
    width = len(str(first + many - 1))
    for fixes, aliases in found.items():
        if len(found) > 1:
            lines += ink.wrapped(f"for {listed(aliases, _MOST_NAMED)}", "    ")
        for fix in fixes:
            lines += declared_lines(fix, f"    {first:>{width}}  ", views, ink)
            first += 1
    for remark in remarks_on(fix for fixes in found for fix in fixes):
        lines += ink.wrapped(remark, "    ")
    if without:
        lines += ink.wrapped(f"these alone do not bound the query: {none_known(without)}", "    ")
    return [*lines, *_budget(verdict, ink)]


def _which(found: Mapping[tuple[Fix, ...], Sequence[str]], without: Sequence[str], first: int) -> str:
    """How many of the fixes are to be taken, and who writes them: nobody is sent for one that leaves the query open."""
    many = sum(map(len, found))
    which = "this" if many == 1 else f"one of these{' for each' if len(found) > 1 else ''}"
    if without:
        return which
    if many == 1:
        return f"{which}; `penstock check FILE --fix {first}` writes it"
    return f"{which}; `penstock check FILE --fix N` writes the N-th, {first} to {first + many - 1}"


BUDGET = "or SELECT /*+ BUDGET(1 GB) */ …: the state stays within it, with the least loss"


def near_text(near: NearInTime) -> str:
    """The condition that would bound a query, as it is written in it; what it asks is for the reader to judge."""
    apart = f"INTERVAL {near.apart}"
    written = [f"{theirs} BETWEEN {ours} - {apart} AND {ours} + {apart}" for theirs, ours in near.pairs]
    return f"if what matches lies near in time, in the query: AND {' AND '.join(written)}"


def _near(verdict: Verdict, ink: Ink) -> list[str]:
    """What a Spark user tries first: a condition on the times, and a watermark for each stream."""
    if verdict.near is None:
        return []
    lines = ink.wrapped(near_text(verdict.near), "    -  ", "       ")
    return lines + declared_lines(verdict.near.declared, "       ", frozenset(), ink)


def has_budget(verdict: Verdict) -> bool:
    """Whether a budget would do, the last resort: it is of the outermost SELECT, so what is open below stays open."""
    return all(block.verdict.verdict == "bounded" for block in verdict.blocks)


def _budget(verdict: Verdict, ink: Ink) -> list[str]:
    return ink.wrapped(BUDGET, "    ") if has_budget(verdict) else []


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


def remarks_on(fixes: Iterable[Fix]) -> list[str]:
    """What some fixes leave open."""
    proposed = " ".join(map(str, fixes))
    return [remark for mark, remark in _REMARKS.items() if mark in proposed]


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
