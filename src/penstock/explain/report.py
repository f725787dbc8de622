"""The text of `penstock check`: what a tired engineer understands at once.

For each query, in this order: the verdict in one line; one line for each piece of state; the reasons; what to declare;
notices. So the answer is the first thing on the screen, and what to do about it the last.

The answer of `penstock implies` is one line, then why: a proof stands step by step, a counter-model row by row. Neither
is shortened: it is there to be checked by hand.
"""

from __future__ import annotations

from collections.abc import Sequence

from penstock.analysis.finding import Bounded, Finding, Means, StateFinding, Strategy, Unbounded, Verdict, Witness
from penstock.analysis.implication.implied import Implication
from penstock.analysis.reasons import WhyOpen
from penstock.errors import visible
from penstock.explain.block_text import block_lines, of_all_blocks
from penstock.explain.counts_text import offer
from penstock.explain.fix_text import fix_lines, listed, numbered
from penstock.explain.gathered_reasons import by_those_concerned, gathered
from penstock.explain.ink import Ink
from penstock.explain.reason_words import each_told, told
from penstock.explain.verdict_json import plain_value

STRATEGY_IN_WORDS = {
    Strategy.REWRITE: "the join is replaced by counts",
    Strategy.SYNOPSIS: "rows that the query cannot tell apart are merged",
    Strategy.PURGE: "rows are kept until no result can need them",
    Strategy.BUDGET: "over the budget rows are evicted, and their results lost",
    Strategy.NONE: "",
}


def check_report(verdicts: Sequence[Verdict], ink: Ink, witness_rows: int | None = None) -> list[str]:
    """The report, line by line; for several queries, a count of the verdicts closes it."""
    if not verdicts:
        return ["No query in this script: nothing to check."]
    lines: list[str] = []
    for number, verdict in enumerate(verdicts):
        first = len(numbered(verdicts[:number])) + 1
        lines += [*query_report(verdict, ink, witness_rows, first), ""]
    return [*lines, _tally(verdicts)] if len(verdicts) > 1 else lines[:-1]


def query_report(verdict: Verdict, ink: Ink, witness_rows: int | None = None, first_fix: int = 1) -> list[str]:
    """The report on one query, all its blocks together; its fixes are numbered from `first_fix`."""
    asked, verdict = verdict, of_all_blocks(verdict)
    lines = [*headline(verdict, ink), "", *state_lines(verdict, ink)]
    for part in (
        _reasons(verdict, ink, has_fix=bool(numbered([asked]))),
        block_lines(asked, ink),
        _witness(verdict.witness, ink, witness_rows),
        fix_lines(asked, first_fix, ink),
        _finality(verdict, ink),
        _notices(verdict, ink),
    ):
        if part:
            lines += ["", *part]
    return lines


def says_of(verdict: Verdict) -> str:
    """The verdict on all its blocks as a sentence: how the query is run, or what of it grows."""
    open_ends = [s.alias for s in verdict.streams if not isinstance(s.finding, Bounded)]
    match verdict.verdict:
        case "bounded":
            nothing = all(
                isinstance(s.finding, Bounded) and s.finding.means is Means.STATELESS for s in verdict.streams
            )
            how = "nothing is stored, each row is answered as it comes" if nothing else None
            return f"{exact_in_words(verdict)}; {how or STRATEGY_IN_WORDS[verdict.strategy]}"
        case "unbounded":
            grows = [s.alias for s in verdict.streams if isinstance(s.finding, Unbounded)]
            return f"the state of {listed(grows)} grows without limit"
        case _:
            return f"no bound is known yet for the state of {listed(open_ends)}"


def headline(verdict: Verdict, ink: Ink) -> list[str]:
    """The verdict, and how the query is run."""
    verdict = of_all_blocks(verdict)
    says = says_of(verdict)
    word = verdict.verdict.upper()
    first, *rest = ink.wrapped(f"{verdict.query}: {word} - {says}", "x ", "  ")
    shown = first.removeprefix("x ").replace(word, ink.verdict(verdict.verdict, word), 1)
    return [f"{ink.mark(verdict.verdict)} {shown}", *rest]


def exact_in_words(verdict: Verdict) -> str:
    """Whether the answer is that of the full history, and on what that rests beside what is declared."""
    if not verdict.exact:
        return "not exact"
    return "exact if the learned lateness holds" if verdict.learned else "exact"


def state_lines(verdict: Verdict, ink: Ink) -> list[str]:
    """One line for each piece of state: mark, name, verdict, rows, bound."""
    names = [_name(state) for state in verdict.streams]
    counts = [rows_text(state.finding) for state in verdict.streams]
    name_width = max(map(len, [*names, "stream"]))
    verdict_width = max(len(s.finding.verdict) for s in verdict.streams) if verdict.streams else 0
    count_width = max(map(len, [*counts, "rows"]))
    head = f"    {'stream':<{name_width}}  {'verdict':<{verdict_width}}  {'rows':>{count_width}}  bound"
    lines = [ink.faint(head)]
    for state, name, count in zip(verdict.streams, names, counts, strict=True):
        word = state.finding.verdict
        bound = told(state.finding.bound) if isinstance(state.finding, Bounded) else "-"
        lead = f"  x {name:<{name_width}}  {word:<{verdict_width}}  {count:>{count_width}}  "
        first, *rest = ink.wrapped(bound, lead)
        after_name = 4 + name_width + 2
        lines.append(
            f"  {ink.mark(word)} {first[4:after_name]}"
            f"{ink.verdict(word, first[after_name : after_name + len(word)])}{first[after_name + len(word) :]}"
        )
        lines += rest
    return lines


def _name(state: StateFinding) -> str:
    is_named_so = state.stream in (state.alias, state.alias.rpartition(".")[2])
    return visible(state.alias if is_named_so else f"{state.alias} ({state.stream})")


def rows_text(finding: Finding) -> str:
    """The number of rows, or the word for why there is none."""
    match finding:
        case Bounded(rows=None):
            return "varies"
        case Bounded(rows=int() as rows):
            return f"{rows:,}"
        case Unbounded():
            return "grows"
        case _:
            return "?"


_LABEL = 20
"""Aliases that are longer together stand in a line of their own."""


def _reasons(verdict: Verdict, ink: Ink, *, has_fix: bool) -> list[str]:
    """What is missing of the state that is open, then what bounds the rest; each reason once.

    Which columns would need a finite domain is told only where there is no better way: nobody makes keys finite.
    """
    open_ends = [s for s in verdict.streams if not isinstance(s.finding, Bounded)]
    bounded = [s for s in verdict.streams if isinstance(s.finding, Bounded)]
    left_out = (WhyOpen.ENDLESS_COLUMNS_UNMERGED,) if has_fix else ()
    groups = [
        each for states in (open_ends, bounded) for each in by_those_concerned(gathered(states, without=left_out))
    ]
    if not groups:
        return []
    lines = [f"  {ink.strong('why')}"]
    labels = [", ".join(map(visible, aliases)) for aliases, _ in groups]
    width = max((len(label) for label in labels if len(label) <= _LABEL), default=0)
    for label, (_, reasons) in zip(labels, groups, strict=True):
        if len(label) > _LABEL:
            lines += ink.wrapped(label, "    ")
        lead = label if len(label) <= _LABEL else ""
        for number, reason in enumerate(reasons):
            lines += ink.wrapped(reason, f"    {lead if number == 0 else '':<{width}}  - ", " " * (width + 8))
    return lines


def _witness(witness: Witness | None, ink: Ink, rows: int | None) -> list[str]:
    if witness is None:
        return []
    lines = [f"  {ink.strong('growing input')}", *ink.wrapped(told(witness.growth), "    ")]
    for stream, values in witness.first(rows or 0):
        shown = ", ".join(f"{name} = {_shown(value)}" for name, value in values)
        lines += ink.wrapped(f"{stream}: {shown}", "      ", "        ")
    return lines


def _shown(value: object) -> object:
    return "NULL" if value is None else plain_value(value)


def _finality(verdict: Verdict, ink: Ink) -> list[str]:
    return [line for sentence in each_told(verdict.finality) for line in ink.wrapped(sentence, "  final ")]


def _notices(verdict: Verdict, ink: Ink) -> list[str]:
    found = offer(verdict.rewrite)
    notices = [*each_told(verdict.notices), *((found,) if found is not None else ())]
    return [line for notice in notices for line in ink.wrapped(notice, "  note  ")]


def _tally(verdicts: Sequence[Verdict]) -> str:
    found = [v.verdict for v in verdicts]
    counts = [f"{found.count(word)} {word}" for word in ("bounded", "unbounded", "undecided") if word in found]
    return f"{len(verdicts)} queries: {', '.join(counts)}"


_SAID = {
    True: ("bounded", "implied"),
    False: ("unbounded", "not implied"),
    None: ("undecided", "undecided"),
}
"""The ink of a verdict, and the word."""


def implication_report(constraint: str, answer: Implication, ink: Ink) -> list[str]:
    """The report, line by line."""
    verdict, word = _SAID[answer.implied]
    lines = [f"{ink.mark(verdict)} {ink.verdict(verdict, word)}: {ink.strong(constraint)}", ""]
    for reason in each_told(answer.because):
        lines += ink.wrapped(reason, "  ", "      ")
    return lines
