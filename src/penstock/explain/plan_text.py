"""The text of `penstock explain`: for each query its plan, block by block and stream by stream, then the query as read.

Everything shown is in the plan or in the verdict; this module only lays it out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from penstock.analysis.closings.closing_graph import ClosingGraph
from penstock.analysis.finding import Bounded, Finding, Means, StateFinding, Verdict, each_block
from penstock.analysis.safe_plans import safe_plans
from penstock.explain.block_text import answer_lines, block_title, of_all_blocks
from penstock.explain.closing_text import purge_rules
from penstock.explain.counts_text import counts_items
from penstock.explain.fix_text import fix_lines, numbered
from penstock.explain.ink import Ink
from penstock.explain.merging_text import merging_lines
from penstock.explain.parts_text import parts_lines
from penstock.explain.reason_words import each_told, told
from penstock.explain.report import headline
from penstock.model.predicates import Comparison, Op, Predicate, Residual, aliases_of, written
from penstock.model.query import Query
from penstock.model.schemes import Policy
from penstock.model.script import Script
from penstock.model.stream import SOURCE_PARTS
from penstock.plan.condition_moments import Moment, conditions_at, left_to_spark, residuals
from penstock.plan.counting import Observed
from penstock.plan.dealing import dealt_together
from penstock.plan.evict import BYTES
from penstock.plan.memory_choice import cluster_memories, key_memories
from penstock.plan.plan import Plan, SourcePlan
from penstock.plan.planner import as_run, closings_of
from penstock.plan.runnable import obstacles, unkept, unkept_bounds
from penstock.plan.second_stage_budget import second_room
from penstock.plan.tree import TEST
from penstock.plan.watching import unseen
from penstock.sql.printer import print_query

_LABEL = 10


def explain_report(
    script: Script,
    verdicts: Sequence[Verdict],
    plans: Sequence[Plan],
    ink: Ink,
    seen: Mapping[str, Observed] | None = None,
) -> list[str]:
    """The plans, line by line."""
    if not plans:
        return ["No query in this script: nothing to plan."]
    lines: list[str] = []
    for number, (query, verdict, plan) in enumerate(zip(script.queries, verdicts, plans, strict=True)):
        lines += headline(verdict, ink)
        blocks = zip(each_block(query, verdict), plan.all_blocks, strict=True)
        promised = {block.name: answer_lines(block) for block in verdict.blocks}
        for (block, found), of_block in blocks:
            title = block_title(verdict, of_block.query)
            lines += _block(block, found, of_block, ink, title=title if verdict.blocks else None)
            if told_above := promised.get(of_block.query):
                whose = title.removeprefix("block ")
                lines += ["", f"  {ink.strong(f'the answer of {whose}')}"]
                lines += _item("promises", told_above, ink)
        if items := counts_items(query, verdict.rewrite, (seen or {}).get(query.name)):
            lines += ["", f"  {ink.strong('counts in place of the join')}"]
            lines += [line for label, texts in items for line in _item(label, texts, ink)]
        for part in (
            merging_lines(of_all_blocks(verdict), ink),
            fix_lines(verdict, len(numbered(verdicts[:number])) + 1, ink),
        ):
            lines += ["", *part] if part else []
        written_so = () if verdict.blocks else print_query(query).splitlines()
        lines += ["", f"  {ink.strong('query')}", *(f"    {line}" for line in written_so)] if written_so else []
        lines.append("")
    return lines[:-1]


def _block(query: Query, verdict: Verdict, plan: Plan, ink: Ink, *, title: str | None) -> Iterator[str]:
    """The plan of one block, by its name if there are several."""
    if title is not None:
        yield from ("", f"  {ink.strong(title)}")
        yield from (f"    {line}" for line in print_query(query).splitlines())
    graph = closings_of(as_run(query, verdict), verdict)
    if plan.rewriting is None:
        yield from ("", *_join(query, plan, graph, ink))
        yield from _item("final", each_told(verdict.finality), ink)
    for source in plan.sources if plan.rewriting is None else ():
        yield ""
        yield from _source(source, query, plan, (verdict, graph), ink)
        yield from _item("merges", merge_lines(verdict, source), ink)
    # The second stage, and a source that another one covers: nothing is read or kept of it.
    for state in (entry for entry in verdict.streams if entry.alias not in plan.by_alias):
        yield from ("", *_second_stage(state, ink))


def _join(query: Query, plan: Plan, graph: ClosingGraph, ink: Ink) -> Iterator[str]:
    yield f"  {ink.strong('join')}"
    many = f"{plan.shape} of {len(plan.sources)} streams" if len(plan.sources) > 1 else str(plan.shape)
    yield from _item("shape", [many], ink)
    if len(plan.components) > 1:
        parts = " x ".join("(" + ", ".join(part) + ")" for part in plan.components)
        yield from _item("product", [f"no predicate ties these together, so every pairing is a result: {parts}"], ink)
    yield from _item("cells", cell_lines(plan), ink)
    yield from _item("also", [str(p) for p in pair_predicates(query)], ink)
    yield from _item("result", after_lines(query), ink)
    yield from _item("groups", group_lines(plan), ink)
    yield from _item("trees", each_told(safe_plans(graph)), ink)
    yield from _item("budget", budget_lines(plan), ink)
    yield from _item("runs", run_lines(query, plan), ink)


def read_columns(source: SourcePlan) -> str:
    """What is read of a stream, but for columns of the engine's own."""
    return ", ".join(f"{c.name} {c.type}" for c in source.read if c.name != SOURCE_PARTS) or "no column"


def budget_lines(plan: Plan) -> list[str]:
    """How a budget is kept."""
    evict = plan.evict
    if evict is None:
        return []
    found = [told(evict.keeps)]
    if (room := second_room(plan)) > 0:
        stage = "DISTINCT" if plan.aggregate is None else "GROUP BY"
        part = f"{room:,} of them are" if evict.rows is not None else f"{-(-room // BYTES['KB']):,} KB of it is"
        found.append(f"{part} for what {stage} remembers; once that is taken, what needs more is lost")
    if not plan.inner and any(plan.tree.root.preserves):
        found.append("a row that comes after its partner may have been evicted is not emitted as one without a match")
    if evict.values:
        shown = [value.text for value in evict.values]
        found.append(f"a result is worth {shown[0] if len(shown) == 1 else ' * '.join(f'({text})' for text in shown)}")
    if evict.archive is not None:
        found.append(f"what was evicted, and what it would have met, is archived in {evict.archive}")
    if evict.shed_input:
        found.append("when a cell takes longer than penstock.trigger, rows are shed before they are joined")
    found.append("`penstock explain --curve N` shows what each budget would keep of N rows of each stream")
    return found


def after_lines(query: Query) -> list[str]:
    """The conditions that are asked of rows that have met: those on several streams, and on one that may be absent."""
    by_spark = left_to_spark(query)
    lines = [f"after the join: {predicate}" for predicate in conditions_at(query, Moment.RESULT)]
    lines += [f"as rows meet: {written(predicate)}" for predicate in residuals(query) if predicate not in by_spark]
    return lines + [f"after the join, by Spark: {written(predicate)}" for predicate in by_spark]


def group_lines(plan: Plan) -> list[str]:
    """How the groups are worked out, what of each stream goes through the join for them, and when they are emitted."""
    if plan.aggregate is None:
        return []
    lines = [told(plan.aggregate.how)]
    below = [f"{m.fold}({m.alias}.{m.column})" for m in plan.aggregate.measures]
    if below and len(plan.sources) > 1:
        lines.append(f"worked out below the join: {', '.join(below)}")
    apart = [f"{o.alias}.{o.column}" for o in plan.outputs]
    apart += [f"the window of {w.alias}.{w.column}" for w in plan.aggregate.windows]
    if apart:
        lines.append(f"kept apart until the groups are added up: {', '.join(apart)}")
    if plan.aggregate.top is not None:
        lines.append(f"of each group the first {plan.aggregate.top.most} rows are kept, in order")
    once = "each group is emitted once, when no result can fall into it any more"
    lines.append(once if plan.aggregate.emits_once else "each batch emits the groups that it changed")
    return lines


def run_lines(query: Query, plan: Plan) -> list[str]:
    """What this version's engine cannot do of it; nothing if it can do all."""
    if plan.rewriting is None and (found := obstacles(query)):
        return [f"not yet: {'; '.join(each_told(found))}"]
    unkept = unkept_bounds(plan) if plan.rewriting is None else ()
    return [f"only with --allow-unbounded: {'; '.join(each_told(unkept))}"] if unkept else []


def pair_predicates(query: Query) -> list[Predicate]:
    """The predicates between two streams that are no equality, and so no key class."""
    return [
        predicate
        for predicate in query.predicates
        if len(aliases_of(predicate)) == 2
        and not isinstance(predicate, Residual)
        and not (isinstance(predicate, Comparison) and predicate.op is Op.EQ)
    ]


def cell_lines(plan: Plan) -> list[str]:
    """How the join is cut into cells: one way for each key class, and who is copied along it."""
    if not plan.axes:
        return ["no key class: all rows meet in one cell"] if len(plan.sources) > 1 else ["any: rows never meet"]
    lines: list[str] = []
    for number, axis in enumerate(plan.axes):
        if not (together := dealt_together(plan, number)):
            continue
        classes = " and ".join(str(plan.axes[n]) for n in together)
        copied = [alias for alias in plan.aliases if axis.column(alias) is None]
        lines.append(f"by {classes}" + (f"; {', '.join(copied)}: to every cell of it" if copied else ""))
    return lines


def _source(source: SourcePlan, query: Query, plan: Plan, of: tuple[Verdict, ClosingGraph], ink: Ink) -> Iterator[str]:
    verdict, graph = of
    mark = ink.mark(source.state.verdict)
    name = source.alias if source.alias == source.stream else f"{source.alias} ({source.stream})"
    yield f"  {mark} {ink.strong(name)}" + (f" {source.window.text}" if source.window else "")
    yield from _item("bound", [bound_text(finding_of(verdict, source.alias))], ink)
    yield from _item("reads", [read_columns(source)], ink)
    yield from _item("parts", parts_lines(query.by_alias[source.alias].stream), ink)
    yield from _item("filters", filter_lines(source, query), ink)
    yield from _item("keeps", [kept_text(source)], ink)
    yield from _item("purge", purge_lines(source, plan, verdict), ink)
    yield from _item("chain", chain_lines(graph, source), ink)
    yield from _item("promises", promise_lines(plan, source.alias), ink)
    yield from _item("memory", memory_lines(plan, source.alias), ink)
    yield from _item("unseen", each_told(unseen(query, plan, source.alias)), ink)


def merge_lines(verdict: Verdict, source: SourcePlan) -> list[str]:
    """What is kept of a stream whose rows are merged."""
    if source.state.means != Means.SYNOPSIS:
        return [] if source.merge is None else [told(source.merge.keeps)]
    return [
        line
        for synopsis in verdict.memory.synopses
        if synopsis.alias == source.alias
        for line in each_told(synopsis.reasons)
    ]


def _second_stage(state: StateFinding, ink: Ink) -> Iterator[str]:
    finding = state.finding
    yield f"  {ink.mark(finding.verdict)} {ink.strong(state.alias)}"
    if isinstance(finding, Bounded):
        yield from _item("bound", [told(finding.bound)], ink)
        return
    yield from _item("bound", [f"none: {finding.verdict}"], ink)
    yield from _item("why", each_told(finding.because), ink)


def finding_of(verdict: Verdict, alias: str) -> Finding:
    """What the verdict says of a stream."""
    return next(entry.finding for entry in verdict.streams if entry.alias == alias)


def bound_text(finding: Finding) -> str:
    """The bound, and its number of rows where there is one."""
    if not isinstance(finding, Bounded):
        return f"none: {finding.verdict}"
    bound, rows = told(finding.bound), finding.rows
    return bound if rows is None or str(rows) in bound else f"{bound} (at most {rows:,} rows)"


def kept_text(source: SourcePlan) -> str:
    """The columns that the state holds, what conditions say of a row left out."""
    return ", ".join(c for c in source.kept if not c.startswith(TEST)) or "no column: only that a row came"


def filter_lines(source: SourcePlan, query: Query) -> list[str]:
    """What is tested as a row arrives; a row that an outer join emits unmatched fails no test."""
    lines = list(source.filters)
    lines += [f"matches only where {p}" for p in conditions_at(query, Moment.MEETING, source.alias)]
    lines += [" = ".join(columns) for columns in source.equal]
    if source.not_null:
        lines.append(f"not NULL: {', '.join(source.not_null)}")
    return lines


def purge_lines(source: SourcePlan, plan: Plan, verdict: Verdict) -> list[str]:
    """What lets a stored row go; where only the verdict knows of it, that, and that the engine does not do it yet."""
    lacks = unkept(plan, source)
    if source.merge is not None and not source.merge.leaves:
        return ["no row leaves: one stands for all that the query cannot tell apart"]
    rules = purge_rules(plan, source)
    if lacks is None:
        is_stored = source.state.verdict != "bounded" or source.state.rows != 0
        return rules or ["nothing lets a stored row go" if is_stored else "nothing is stored"]
    finding = finding_of(verdict, source.alias)
    if isinstance(finding, Bounded) and finding.means is Means.PURGE:
        return [*rules, f"{told(finding.bound)}, by the verdict; this version's engine does not do it yet"]
    return [*rules, f"nothing yet: {told(lacks)}"]


def chain_lines(graph: ClosingGraph, source: SourcePlan) -> list[str]:
    """The chained purge of a stream, step by step, where it is more than one; and what it never reaches."""
    chain = graph.reach(source.alias)
    lines = []
    if len(chain.edges) > 1 or (chain.edges and chain.unreached):
        for number, step in enumerate(chain.edges, start=1):
            lines.append(
                f"{number}. {' and '.join(step.sources)} -> {step.target}: {'; '.join(each_told(step.closing.because))}"
            )
    if chain.unreached and source.state.verdict != "bounded":
        lines.append(f"never reached: {', '.join(chain.unreached)}")
    return lines


def promise_lines(plan: Plan, alias: str) -> list[str]:
    """The declarations in use, each with what happens to a row that breaks it if that is not the default."""
    lines = []
    for promise in plan.promises:
        if promise.alias == alias:
            into = f" INTO {promise.into}" if promise.into else ""
            follows = plan.by_alias[alias].block is not None and promise.policy is Policy.TRUST
            policy = "" if promise.policy is Policy.ADAPT or follows else f", on violation {promise.policy}{into}"
            partner = f", for {promise.partner}" if promise.partner else ""
            lines.append(f"{promise.constraint}{partner}{policy}")
    lines += [f"{u.constraint}: dropped at the source, for {told(u.why)}" for u in plan.useless if u.alias == alias]
    return list(dict.fromkeys(lines))


def memory_lines(plan: Plan, alias: str) -> list[str]:
    """Whether keys that have left and clusters are remembered, where other constraints would do; and why."""
    lines = [
        f"keys that have left are {'kept' if memory.kept else 'not kept'} for rows of {memory.closer.source} to come: "
        f"{told(memory.because)}"
        for memory in key_memories(plan)
        if memory.closer.target == alias and memory.waits
    ]
    for clusters in cluster_memories(plan):
        if clusters.promise.alias == alias:
            named = " and ".join(other for other, _ in clusters.alternatives)
            is_used = "used" if clusters.kept else "not used"
            lines.append(f"{clusters.promise.constraint} is {is_used} for rows of {named}: {told(clusters.because)}")
    return lines


def _item(label: str, texts: Sequence[str], ink: Ink) -> Iterator[str]:
    for number, text in enumerate(texts):
        shown = label if number == 0 else ""
        first, *rest = ink.wrapped(text, f"    {shown:<{_LABEL}}")
        yield f"    {ink.faint(shown)}{first[4 + len(shown) :]}"
        yield from rest
