"""A query as a DataFrame: streaming DataFrames in, a streaming DataFrame out.

What must hold before anything starts is asked here: settings, types, a place for what is kept out. How the blocks of
the query are put together is `assembly.py`'s.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from pyspark.sql import DataFrame, SparkSession

from penstock.errors import UsageError
from penstock.model.block_tree import blocks_below
from penstock.model.names import fold
from penstock.model.query import Query
from penstock.model.schemes import Policy
from penstock.model.script import Script
from penstock.model.stream import KAFKA, SOURCE_PARTS
from penstock.plan.plan import Plan
from penstock.runtime import Patience
from penstock.runtime.input.grid import Grid
from penstock.spark.asked_before import in_session_zone
from penstock.spark.assembly import Assembly, InCommon, PlacedBlock, require_comparable
from penstock.spark.cache import cache_root, new_run, sweep
from penstock.spark.calendar_days import tell_calendar_days
from penstock.spark.cells import CELLS, KeyedGrid, whole_cells
from penstock.spark.checkpoint import BlockPlans, Grids
from penstock.spark.cluster import is_one_machine, let_workers_import
from penstock.spark.connectors import require_connector
from penstock.spark.ended_queries import forget_when_it_ends
from penstock.spark.essence import ZONE, Essence, as_kept, essence_of, identity_of
from penstock.spark.final import End
from penstock.spark.first_look import with_hot_keys_split
from penstock.spark.hadoop_path import place_of, worker_folder
from penstock.spark.handed_over import CAN_BE, HandedOver
from penstock.spark.kafka import partitions_of
from penstock.spark.malformed import answer_to, is_text, quarantines
from penstock.spark.named_parts import Named, NamedParts
from penstock.spark.operator import NO_NAMED_PARTS
from penstock.spark.parquet_sink import PackedAnswer
from penstock.spark.rewritten_query import counted_answer
from penstock.spark.segment_files import SegmentFiles
from penstock.spark.session import make_ready
from penstock.spark.shared_blocks import blocks_in_a_row
from penstock.spark.types import require_carriable
from penstock.spark.worker_files import WorkerFolder

__all__ = ["Assembled", "DataFrame", "SparkSession", "assemble"]

PURGE = "penstock.purge"
"""When stored rows are asked whether they can go: `eager`, after every batch, or `lazy`."""
AUDIT = "penstock.audit"
"""The share of the keys of which rows that promises let go are kept, to see whether anything would meet them."""
TRIGGER = "penstock.trigger"
"""The seconds between two batches."""
QUARANTINE = "penstock.quarantine"
"""Where quarantined rows go if no checkpoint says so."""
NO_CELLS: Grids = {}


@dataclass(frozen=True)
class Assembled:
    """A query put together on Spark: its answer, how its counts are observed, and what its state is of."""

    answer: DataFrame
    observation: str
    run: str
    """The name of its warm cache."""
    essence: Essence
    texts: tuple[str, ...] = ()
    """The streams whose malformed rows are observed."""
    observations: Mapping[str, str] = field(default_factory=dict)
    """By block, how its counts are observed."""
    named: NamedParts = NO_NAMED_PARTS
    """The parts that its sources name."""
    cells: int = 0
    """The most cells of a block; none where counts replace the joins."""
    plans: tuple[BlockPlans, ...] = ()
    """By which its cells are run, those of the block on top first."""
    packed: PackedAnswer | None = None
    """The answer before it is unpacked, where that is all there is to be done."""


def named_from_the_start(named: Named) -> NamedParts:
    """What sources name, where no checkpoint knows more."""
    return NamedParts().then(0, named)


def assemble(
    spark: SparkSession,
    script: Script,
    query: Query,
    plan: Plan,
    *,
    inputs: Mapping[str, DataFrame] | None = None,
    quarantine: WorkerFolder | None = None,
    has_sinks: bool = False,
    end: End | None = None,
    named: Callable[[Named], NamedParts] = named_from_the_start,
    cells: Grids = NO_CELLS,
    dealt_anew: WorkerFolder | None = None,
    segments: SegmentFiles | None = None,
    kept: Essence | None = None,
    has_store: bool = False,
    left_to_spark: frozenset[str] = frozenset(),
) -> Assembled:
    """Put a query together; nothing is read before the answer is written somewhere.

    `has_sinks` says that the caller writes what QUARANTINE INTO keeps out to its sink; `end` says when streams end;
    `cells` are those of a checkpoint that is gone on with, `dealt_anew` where its state lies if it was rescaled,
    `segments` where large segments do, `kept` what it says that it is of, and
    `has_store` whether it has a state store; JSON of the streams `left_to_spark` is not plain.
    """
    make_ready(spark)
    tell_calendar_days(spark, query)
    # What runs that are over left on this host.
    sweep()
    observation = observation_of(query.name, is_alone=has_sinks)
    if plan.rewriting is not None:
        script = script.as_read_by(query)
        return Assembled(
            *counted_answer(spark, script, plan, inputs or {}, observation), _texts(script, plan, inputs or {})
        )
    plan = audited(plan, audited_share(spark.conf.get(AUDIT, None)))
    let_workers_import(spark)
    plans = tuple(in_session_zone(spark, block) for block in plan.all_blocks)
    _require_read(plan, inputs or {})
    if quarantine is None and (setting := spark.conf.get(QUARANTINE, None)) is not None:
        place = place_of(spark, setting)
        place.mkdir(parents=True, exist_ok=True)
        quarantine = worker_folder(spark, place)
    for placed in plans:
        _require_runnable(script, placed, quarantine, has_sinks)
    wanted = spark.conf.get(CELLS, None)
    cores = spark.sparkContext.defaultParallelism
    below = {source.stream.name: source for source in blocks_below(query)}
    blocks: dict[str, PlacedBlock] = {}
    for placed in plans:
        grid = _grid(placed, wanted, cells.get(placed.query), cores)
        if has_sinks and placed.query not in cells:
            grid = with_hot_keys_split(spark, script, placed, grid)
        source = below.get(placed.query)
        asked = query if source is None else source.below
        assert isinstance(asked, Query)
        blocks[placed.query] = PlacedBlock(asked, placed, grid, None if source is None else source.stream)
    run = new_run()
    top = blocks[plans[-1].query]
    zone = spark.conf.get(ZONE)
    essence = essence_of(script.as_read_by(query), top.query, top.plan, top.grid, zone)
    if len(blocks) > 1:
        # What Spark evaluates of a block below, the block above stores.
        essence[ZONE] = zone
        essence["blocks"] = {
            name: essence_of(script.as_read_by(block.query), block.query, block.plan, block.grid, zone)
            for name, block in blocks.items()
            if block is not top
        }
        if row := blocks_in_a_row({name: block.plan for name, block in blocks.items()}):
            essence["blocks in a row"] = list(row)
    essence = as_kept(kept, essence)
    parts = named(_named(spark, script, plan, inputs or {}))
    assembly = Assembly(
        InCommon(
            spark,
            script,
            inputs or {},
            run,
            identity_of(essence),
            observation,
            quarantine,
            purge_strategy(spark.conf.get(PURGE, None)),
            end,
            turn_of(
                top.plan,
                trigger_seconds(spark.conf.get(TRIGGER, None)),
                top.grid,
                cores,
            ),
            parts,
            dealt_anew,
            segments,
            has_store,
            HandedOver(str(cache_root()), run) if CAN_BE and has_sinks and is_one_machine(spark) else None,
            left_to_spark,
        ),
        blocks,
    )
    if not has_sinks:
        forget_when_it_ends(spark, observation, run)
    answer = assembly.answer(top.plan.query)
    texts = _texts(script, plan, inputs or {})
    most = max(block.grid.cells for block in blocks.values())
    whole = tuple(BlockPlans(placed, assembly.second_plans.get(placed.query)) for placed in plans[::-1])
    return Assembled(
        answer, observation, run, essence, texts, assembly.observations, parts, most, whole, assembly.packed
    )


_named_before: dict[str, int] = {}
"""By query, how often its counts got a name in this process."""


def observation_of(query: str, *, is_alone: bool) -> str:
    """Under which name Spark observes the counts of a query: `penstock_<query>`.

    Where a program has several of one name, the second is `penstock_<query>~2`; `run` has each once.
    """
    if not is_alone:
        _named_before[query] = _named_before.get(query, 0) + 1
    number = 1 if is_alone else _named_before[query]
    return f"penstock_{query}" if number == 1 else f"penstock_{query}~{number}"


def _grid(plan: Plan, wanted: str | None, kept: Grid | None, cores: int) -> KeyedGrid:
    """The cells that are wanted; else those that hold its state; else those of a query that starts."""
    new = KeyedGrid.first(plan, cores) if wanted is None else KeyedGrid.over(plan, whole_cells(wanted))
    if kept is not None and len(kept.shares) == len(plan.axes) and (wanted is None or kept.shares == new.shares):
        return KeyedGrid.like(kept)
    return new


def _named(spark: SparkSession, script: Script, plan: Plan, inputs: Mapping[str, DataFrame]) -> Named:
    """The parts that sources name, by stream."""
    bound = set(map(fold, inputs))
    streams = (stream for name in plan.read_streams if (stream := script.stream(name)) is not None)
    own = [stream for stream in streams if stream.parts == SOURCE_PARTS and fold(stream.name) not in bound]
    for stream in own:
        require_connector(spark, f"stream {stream.name}", KAFKA)
    return {stream.name: partitions_of(spark, stream) for stream in own}


def _require_read(plan: Plan, inputs: Mapping[str, DataFrame]) -> None:
    """Raise UsageError on an input that no block reads."""
    read = {fold(name) for name in plan.read_streams}
    for name in inputs:
        if fold(name) not in read:
            raise UsageError(
                f"query {plan.query} reads no stream {name}", detail=f"it reads: {', '.join(plan.read_streams)}"
            )


def _texts(script: Script, plan: Plan, inputs: Mapping[str, DataFrame]) -> tuple[str, ...]:
    bound = set(map(fold, inputs))
    streams = (stream for name in plan.read_streams if (stream := script.stream(name)) is not None)
    return tuple(stream.name for stream in streams if is_text(stream) and fold(stream.name) not in bound)


def trigger_seconds(setting: str | None) -> float | None:
    """The setting of the trigger, which must be a number of seconds; None if there is none."""
    if setting is None:
        return None
    try:
        seconds = float(setting)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds < float("inf"):
        raise UsageError(f"{TRIGGER} is a number of seconds above 0, not {setting}")
    return seconds


def turn_of(plan: Plan, trigger: float | None, grid: KeyedGrid, slots: int) -> float | None:
    """The seconds that a batch of one cell may take, if rows are shed where it takes longer."""
    if plan.evict is None or not plan.evict.shed_input:
        return None
    if trigger is None:
        raise UsageError(
            f"SHED(INPUT) sheds rows when batches fall behind, and {TRIGGER} does not say behind what",
            hint=f"run with --conf {TRIGGER}=5, for a batch every five seconds",
        )
    return trigger * min(1.0, slots / grid.cells)


def _require_runnable(script: Script, plan: Plan, quarantine: WorkerFolder | None, has_sinks: bool) -> None:
    """Raise, before anything starts, on what would only fail when some row comes."""
    asked = [(p.policy is Policy.QUARANTINE, p.into, f"break {p.constraint}") for p in plan.promises]
    for stream in filter(None, map(script.stream, plan.streams)):
        into = answer_to(stream).into
        asked.append((quarantines(stream), into, f"do not read as stream {stream.name} declares"))
    for is_kept_out, into, what in asked:
        if into is not None and not has_sinks:
            raise UsageError(
                f"QUARANTINE INTO {into} is for `penstock run`: a DataFrame has no sinks",
                hint=f"leave INTO out, and spark.conf.set('{QUARANTINE}', folder)",
            )
        if is_kept_out and quarantine is None:
            raise UsageError(
                f"there is no place for the rows that {what}",
                hint=f"run with --checkpoint DIR; from Python, spark.conf.set('{QUARANTINE}', folder)",
            )
    kinds = {(s.alias, c.name): c.type for s in plan.sources for c in s.read}
    for (alias, column), kind in kinds.items():
        require_carriable(f"{alias}.{column}", kind)
    for output in plan.outputs if plan.distinct and not plan.distinct_over_expressions else ():
        require_comparable(f"{output.alias}.{output.column}", kinds[output.alias, output.column])


def audited(plan: Plan, share: float) -> Plan:
    """The plan with an audit of a share of the keys, in all its blocks."""
    return replace(plan, audit=share, blocks=tuple(replace(block, audit=share) for block in plan.blocks))


def audited_share(text: str | None) -> float:
    """The share of the keys that is audited, as a setting gives it; none if it is not set."""
    try:
        share = float(text or 0)
    except ValueError:
        share = -1.0
    if not 0 <= share <= 1:
        raise UsageError(f"{AUDIT} is a share of the keys from 0 to 1, such as 0.001, not {text}")
    return share


def purge_strategy(text: str | None) -> Patience:
    """The purge strategy, as a setting gives it; eager if it is not set."""
    if text is None:
        return Patience.EAGER
    try:
        return Patience(text.lower())
    except ValueError:
        raise UsageError(f"{PURGE} is {' or '.join(Patience)}, not {text}") from None
