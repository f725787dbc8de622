"""`penstock explain --html`: verdicts and plans as one page that needs nothing else.

Style and drawings are inside, there is no script, nothing is fetched. Every text of the user's is escaped: names may
hold any character. Light or dark as the reader's system asks.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from importlib.resources import files

from penstock import __version__
from penstock.analysis.closings.closing_graph import ClosingGraph
from penstock.analysis.finding import Bounded, StateFinding, Verdict, each_block
from penstock.analysis.safe_plans import safe_plans
from penstock.explain.block_text import answer_lines, block_title, of_all_blocks
from penstock.explain.counts_text import counts_items
from penstock.explain.fix_text import (
    JOB_REMARK,
    budget_offer,
    declared_lines,
    listed,
    near_texts,
    none_known,
    numbered_of,
    remarks_on,
    shown_fixes,
)
from penstock.explain.gathered_reasons import gathered
from penstock.explain.graph_svg import join_graph
from penstock.explain.ink import Ink
from penstock.explain.lifespan_html import lifespans
from penstock.explain.parts_text import parts_lines
from penstock.explain.plan_text import (
    after_lines,
    cell_lines,
    chain_lines,
    filter_lines,
    group_lines,
    kept_text,
    promise_lines,
    purge_lines,
    read_columns,
    run_lines,
)
from penstock.explain.reason_words import each_told, told
from penstock.explain.report import rows_text, says_of
from penstock.explain.verdict_json import plain_value
from penstock.model.query import Query
from penstock.model.script import Script
from penstock.plan.plan import Plan, SourcePlan
from penstock.plan.planner import as_run, closings_of
from penstock.plan.watching import unseen
from penstock.sql.printer import print_query

_MARKS = {"bounded": "✓", "unbounded": "✗", "undecided": "?"}


def page(title: str, script: Script, verdicts: Sequence[Verdict], plans: Sequence[Plan]) -> str:
    """The whole page."""
    style = files("penstock.explain").joinpath("page.css").read_text(encoding="utf-8")
    return "\n".join(
        [
            '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f"<title>{escape(title)} - Penstock</title>\n<style>\n{style}</style>\n</head>\n<body>",
            f"<h1>{escape(title)}</h1>",
            *_summary(verdicts),
            *(
                line
                for number, (query, verdict, plan) in enumerate(zip(script.queries, verdicts, plans, strict=True))
                for line in _query(number, query, verdict, plan)
            ),
            f'<section><p class="soft">Penstock {escape(__version__)}</p></section>',
            "</body>\n</html>\n",
        ]
    )


def _summary(verdicts: Sequence[Verdict]) -> Iterator[str]:
    if not verdicts:
        yield '<p class="soft">No query in this script: nothing to plan.</p>'
    elif len(verdicts) > 1:
        yield (
            "<p>"
            + " &nbsp; ".join(
                f'<a href="#q{number}">{escape(v.query)}</a> {_badge(v.verdict)}' for number, v in enumerate(verdicts)
            )
            + "</p>"
        )


def _badge(verdict: str) -> str:
    return f'<span class="badge {verdict}">{_MARKS[verdict]} {verdict}</span>'


def _query(number: int, query: Query, verdict: Verdict, plan: Plan) -> Iterator[str]:
    of_top, verdict = verdict, of_all_blocks(verdict)
    yield f'<section id="q{number}">\n<h2>{escape(verdict.query)} {_badge(verdict.verdict)}</h2>'
    says = says_of(verdict)
    yield f'<p class="headline">{escape(says[:1].upper() + says[1:])}.</p>'
    yield from _states(verdict)
    parts = list(zip(each_block(query, of_top), plan.all_blocks, strict=True))
    yield from _lives(parts, of_top)
    yield from _fixes(of_top)
    if verdict.witness is not None:
        yield f"<h3>A growing input</h3>\n<p>{escape(told(verdict.witness.growth))}.</p>"
        rows = [
            f"{name}: {', '.join(f'{c} = {plain_value(v)}' for c, v in values)}"
            for name, values in verdict.witness.rows
        ]
        yield f"<pre>{escape(chr(10).join(rows))}</pre>"
    yield from _reasons(verdict)
    blocks = {block.name: block for block in of_top.blocks}
    for place, ((block, found), part) in enumerate(parts):
        below = blocks.get(part.query)
        if below is not None:
            title = block_title(of_top, below.name)
            yield f"<h3>{escape(title[:1].upper() + title[1:])}</h3>\n<pre>{escape(print_query(block))}</pre>"
        yield from _block(block, found, part, f"q{number}" if below is None else f"q{number}b{place}")
        if below is not None:
            yield f"<h3>What its answer promises</h3>\n{_list(answer_lines(below))}"
    if items := counts_items(query, verdict.rewrite):
        yield "<h3>Counts in place of the join</h3>\n<dl>"
        for label, texts in items:
            yield from _item(label, texts, label == "sql")
        yield "</dl>"
    yield f"<h3>Query</h3>\n<pre>{escape(print_query(query))}</pre>"
    yield from (f'<p class="soft">Final: {escape(sentence)}.</p>' for sentence in each_told(verdict.finality))
    yield from (f'<p class="soft">Note: {escape(notice)}.</p>' for notice in each_told(verdict.notices))
    yield "</section>"


def _lives(parts: Sequence[tuple[tuple[Query, Verdict], Plan]], verdict: Verdict) -> Iterator[str]:
    for (block, found), part in parts:
        if picture := lifespans(block, found):
            of = f", in {escape(block_title(verdict, part.query).removeprefix('block '))}" if verdict.blocks else ""
            yield f"<h3>How long a row is kept, and what it waits for{of}</h3>"
            yield from picture


def _block(query: Query, verdict: Verdict, plan: Plan, name: str) -> Iterator[str]:
    """The plan of one block; `name` sets its drawing apart on the page."""
    yield "<h3>Join graph</h3>"
    graph = closings_of(as_run(query, verdict), verdict)
    drawing, caption = join_graph(query, plan, graph, name)
    yield f'<figure><div class="scroll">{drawing}</div>\n<figcaption>{escape(caption)}</figcaption></figure>'
    yield "<details><summary>The plan, stream by stream</summary>\n<dl>"
    yield from _item("shape", [plan.shape], False)
    yield from _item("cells", cell_lines(plan), True)
    yield from _item("result", after_lines(query), True)
    yield from _item("groups", group_lines(plan), True)
    yield from _item("trees", each_told(safe_plans(graph)), False)
    yield from _item("runs", run_lines(query, plan), False)
    yield "</dl>"
    if plan.rewriting is None:
        for source in plan.sources:
            yield from _source(source, query, plan, verdict, graph)
    yield "</details>"


def _states(verdict: Verdict) -> Iterator[str]:
    yield '<h3>State</h3>\n<div class="scroll"><table class="states">'
    yield '<tr><th>stream</th><th>verdict</th><th class="number">rows</th><th>bound</th></tr>'
    for state in verdict.streams:
        bound = (
            escape(told(state.finding.bound))
            if isinstance(state.finding, Bounded)
            else '<span class="soft">none</span>'
        )
        yield (
            f'<tr><td class="name">{_name(state)}</td><td>{_badge(state.finding.verdict)}</td>'
            f'<td class="number">{rows_text(state.finding)}</td><td>{bound}</td></tr>'
        )
    yield "</table></div>"


def _name(state: StateFinding) -> str:
    stream = "" if state.stream == state.alias else f' <span class="soft">({escape(state.stream)})</span>'
    return f"{escape(state.alias)}{stream}"


def _fixes(asked: Verdict) -> Iterator[str]:
    """Why it is open, each reason once with the streams that it is about; then what to write, each fix once."""
    verdict = of_all_blocks(asked)
    open_ends = [s for s in verdict.streams if not isinstance(s.finding, Bounded)]
    if not open_ends:
        return
    yield "<h3>To bound it</h3>"
    yield '<div class="card fix">'
    if asked.job_fixes:
        yield '<p class="soft">In the job, one of these:</p><ol class="mono">'
        yield from (f"<li>{'<br>'.join(map(escape, lines))}</li>" for lines in asked.job_fixes)
        yield f'</ol><p class="soft">{escape(JOB_REMARK)}.</p></div>'
    else:
        yield from _declarations(asked)
        yield "</div>"
    yield f"<h3>Why it is not bounded</h3>\n{_shared(open_ends)}"


def _declarations(asked: Verdict) -> Iterator[str]:
    """The fixes of a script, numbered as `check --fix` takes them."""
    found, without = shown_fixes(asked)
    views = {block.name for block in asked.blocks}
    number = 1
    if asked.near is not None:
        told_near = [line for place, texts in near_texts(asked.near).items() for line in (place, *texts)]
        lines = [*told_near, *declared_lines(asked.near.declared, "", views, Ink(width=10_000))]
        yield f'<ol class="mono"><li>{"<br>".join(map(escape, lines))}</li></ol>'
        number += 1
    for fixes, aliases in found.items():
        many = "one of these" if len(fixes) > 1 else "this"
        of = f" for {listed(aliases)}" if len(found) > 1 or without else ""
        yield f'<p class="soft">Declare {many}{escape(of)}:</p><ol class="mono" start="{number}">'
        for fix in fixes:
            lines = declared_lines(fix, "", views, Ink(width=10_000))
            yield f"<li>{'<br>'.join(escape(line) for line in lines)}</li>"
        number += len(fixes)
        yield "</ol>"
    said = remarks_on(numbered_of(asked))
    said += [none_known(without)] if without else []
    yield from (f'<p class="soft">{escape(text)}.</p>' for text in [*said, *filter(None, [budget_offer(asked)])])


def _reasons(verdict: Verdict) -> Iterator[str]:
    reasoned = [s for s in verdict.streams if isinstance(s.finding, Bounded) and s.finding.because]
    if reasoned:
        yield f"<h3>Why it is bounded</h3>\n{_shared(reasoned)}"


def _shared(states: Sequence[StateFinding]) -> str:
    """The reasons of several states, each once, with those that it is a reason for."""
    every = tuple(state.alias for state in states)
    items = [
        f"<li>{escape(one.text)}"
        + (f' <span class="of">{escape(", ".join(one.of))}</span>' if one.of != every or len(every) == 1 else "")
        + "</li>"
        for one in gathered(states)
    ]
    return '<ul class="reasons">' + "".join(items) + "</ul>"


def _list(texts: Sequence[str]) -> str:
    return "<ul>" + "".join(f"<li>{escape(text)}</li>" for text in texts) + "</ul>" if texts else ""


def _source(source: SourcePlan, query: Query, plan: Plan, verdict: Verdict, graph: ClosingGraph) -> Iterator[str]:
    window = f" <code>{escape(source.window.text)}</code>" if source.window else ""
    stream = "" if source.stream == source.alias else f' <span class="soft">({escape(source.stream)})</span>'
    yield f'<div class="card"><div class="title">{escape(source.alias)}{stream}{window}</div>\n<dl>'
    items: list[tuple[str, Sequence[str], bool]] = [
        ("reads", [read_columns(source)], True),
        ("parts", parts_lines(query.by_alias[source.alias].stream), False),
        ("filters", filter_lines(source, query), True),
        ("keeps", [kept_text(source)], True),
        ("purge", purge_lines(source, plan, verdict), False),
        ("merges", [told(source.merge.keeps)] if source.merge is not None else [], False),
        ("chain", chain_lines(graph, source), False),
        ("promises", promise_lines(plan, source.alias), True),
        ("unseen", each_told(unseen(query, plan, source.alias)), False),
    ]
    for label, texts, is_code in items:
        yield from _item(label, texts, is_code)
    yield "</dl></div>"


def _item(label: str, texts: Sequence[str], is_code: bool) -> Iterator[str]:
    if texts:
        lines = "".join(f"<div>{escape(text)}</div>" for text in texts)
        look = ' class="mono"' if is_code else ""
        yield f"<dt>{label}</dt><dd{look}>{lines}</dd>"
