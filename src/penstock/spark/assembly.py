"""The blocks of a query put together on Spark: each a join of packed streams, its second stage, its SELECT.

    streams, blocks below -> packed -> cells -> [dealt -> buckets] -> SELECT -> sink, or packed for the block above

All blocks are parts of one streaming query, so that they take the same batches and commit together. Of a block that
another reads, what its cells or buckets tell of how far its answer has come goes along beside the rows (TOLD). Where
several blocks read one, the blocks above it stand in a row (`shared_blocks`), so that it is run once.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import pairwise

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as everyone writes it

from penstock.errors import UsageError
from penstock.model.names import fold
from penstock.model.query import Query
from penstock.model.schemes import Policy
from penstock.model.script import Script
from penstock.model.stream import Stream
from penstock.plan.plan import Plan
from penstock.plan.stateless import needs_no_state
from penstock.runtime import Patience
from penstock.runtime.counts import Count, placed, second_stage_of, second_vocabulary, vocabulary
from penstock.spark.answers import (
    carried_rows,
    packed_answer,
    restored_and_told,
    restored_answers,
    selected,
    selected_and_told,
)
from penstock.spark.archive_files import archive_of
from penstock.spark.arrow_map import mapped
from penstock.spark.asked_before import worth_of_absence
from penstock.spark.batch_times import CELL_TIMES, STAGE_TIMES
from penstock.spark.cells import KeyedGrid
from penstock.spark.dealer import DEALT, Dealer
from penstock.spark.final import End
from penstock.spark.groups import Dealt, deal, dealer_of, show
from penstock.spark.hadoop_path import HadoopPath, place_of, worker_folder
from penstock.spark.handed_over import HandedOver
from penstock.spark.malformed import answer_to, quarantines
from penstock.spark.named_parts import NamedParts
from penstock.spark.operator import ANSWER, COUNTS, DEALT_RESULT, RESULT, CellProcessor, SecondProcessor
from penstock.spark.pack import Packer
from penstock.spark.pack_block import packed_block
from penstock.spark.packed_streams import packed_stream
from penstock.spark.parquet_sink import PackedAnswer
from penstock.spark.passing import Passing, counts_of_tasks
from penstock.spark.segment_files import SegmentFiles
from penstock.spark.shared_blocks import Reader, blocks_in_a_row, packed_for_readers, readers_of
from penstock.spark.sources import depends_on_order
from penstock.spark.stateful_stage import StatefulStage
from penstock.spark.unpack import TOLD, EvaluatedRedealer
from penstock.spark.worker_files import WorkerFolder


@dataclass(frozen=True)
class PlacedBlock:
    """A block, and the cells that it is run on."""

    query: Query
    plan: Plan
    grid: KeyedGrid
    stream: Stream | None = None
    """The stream that its answer is; None of the block on top."""


@dataclass(frozen=True)
class InCommon:
    """What all blocks of a query have in common."""

    spark: SparkSession
    script: Script
    inputs: Mapping[str, DataFrame]
    run: str
    """The name of the warm cache."""
    identity: str
    """Which every cell's state carries."""
    observation: str
    quarantine: WorkerFolder | None
    patience: Patience
    end: End | None
    turn: float | None
    named: NamedParts
    """The parts that sources name."""
    dealt_anew: WorkerFolder | None = None
    """Where state lies that was dealt to other cells, until it is taken over."""
    segments: SegmentFiles | None = None
    """Where large segments lie; None where Spark's store has all."""
    has_store: bool = False
    """Whether there is a state store already, of a run before: then the query goes on with it, needed or not."""
    files: HandedOver | None = None
    """By which large tables go from packers to cells, where all are on one machine."""
    left_to_spark: frozenset[str] = frozenset()
    """The streams whose JSON is not plain."""

    @property
    def malformed_into(self) -> dict[str, str | None]:
        """By stream that keeps malformed rows, the sink for them if it names one."""
        return {stream.name: answer_to(stream).into for stream in self.script.streams if quarantines(stream)}


@dataclass(frozen=True)
class _Handed:
    """What a block hands out, (kind, payload), and what is needed to make columns of it."""

    rows: DataFrame
    groups: Dealt | None = None
    evaluated: DataFrame | None = None


@dataclass
class Assembly:
    """Puts the blocks of one query together; they are known by the names of their plans."""

    shared: InCommon
    blocks: Mapping[str, PlacedBlock]
    observations: dict[str, str] = field(default_factory=dict)
    """By block, how its counts are observed."""
    second_plans: dict[str, Plan] = field(default_factory=dict)
    """By block that has a second stage, the plan by which that works."""
    packed: PackedAnswer | None = None
    """The answer before it is unpacked, where SELECT only names columns."""
    _made: int = 0
    _kept_out: set[str] = field(default_factory=set)
    """The constraints whose violating rows a block writes to the quarantine: others that read the stream need not."""

    def answer(self, name: str) -> DataFrame:
        """The answer of a block, as its SELECT has it."""
        block, observation, owner = self._begun(name)
        row = blocks_in_a_row({name: block.plan for name, block in self.blocks.items()})
        along: DataFrame | None = None
        for one, after in pairwise(row):
            along = self._for_readers(one, after, row, along)
        handed = self._handed(self._packed(block, observation, row, along), block, observation, owner)
        answers = handed.rows.where(F.col("kind") == ANSWER).select("payload")
        if handed.groups is not None:
            return self._counted(show(answers, block.query, handed.groups), block, observation)
        if handed.evaluated is not None:
            return restored_answers(answers, handed.evaluated)
        self.packed = packed_answer(answers, block.query, block.plan)
        return self._counted(selected(answers, block.query, block.plan), block, observation)

    def _for_readers(self, name: str, after: str, row: tuple[str, ...], along: DataFrame | None) -> DataFrame:
        """The answer of a block of the row, and what comes along with it, packed for the next one."""
        plans = {other: block.plan for other, block in self.blocks.items()}
        stream = self.blocks[name].stream
        assert stream is not None
        readers = [self._reader(*reader) for reader in readers_of(name, plans)]
        following = self.blocks[after]
        packer = Packer(following.plan, following.plan.streams[0], following.grid, ordered=False)
        return packed_for_readers(self.answer_and_told(name, row, along), stream, readers, after, packer)

    def _reader(self, reader: str, name: str) -> Reader:
        """A block that reads one as that stream, or as a part of it."""
        above = self.blocks[reader]
        members = next(s.members for s in above.plan.sources if s.block == name) or (name,)
        reading = next(s.stream for s in above.query.all_sources if s.stream.name == name)
        speakers = sum(self.blocks[member].grid.cells for member in members)
        packer = Packer(above.plan, name, above.grid, ordered=False, files=self.shared.files)
        return Reader(reader, reading, packer, speakers)

    def answer_and_told(self, name: str, row: tuple[str, ...] = (), along: DataFrame | None = None) -> DataFrame:
        """The same with TOLD beside the columns; `along` is what blocks before it in the row packed for it."""
        block, observation, owner = self._begun(name)
        handed = self._handed(self._packed(block, observation, row, along), block, observation, owner)
        if handed.groups is not None:
            return show(handed.rows, block.query, handed.groups, beside=TOLD)
        if handed.evaluated is not None:
            return restored_and_told(handed.rows, handed.evaluated)
        return selected_and_told(handed.rows, block.query, block.plan)

    def _begun(self, name: str) -> tuple[PlacedBlock, str, str]:
        """A block, how it is observed, and what its caches are named after."""
        observation = self.shared.observation if not self._made else f"{self.shared.observation}_{self._made}"
        owner = "" if not self._made else f"{self._made}."
        self._made += 1
        self.observations.setdefault(name, observation)
        return self.blocks[name], observation, owner

    def _counted(self, shown: DataFrame, block: PlacedBlock, observation: str) -> DataFrame:
        if not leaves_out(block.query, block.plan):
            return shown
        return shown.observe(answer_observation(observation), F.count(F.lit(1)).alias("rows_out"))

    def _handed(self, packed: DataFrame, block: PlacedBlock, observation: str, owner: str) -> _Handed:
        shared, plan, grid = self.shared, block.plan, block.grid
        told = (plan.to_json(), shared.identity, shared.run)
        dealer = dealer_of(plan, grid.keys)
        given = _passed(shared, packed, plan, observation)
        if given is None:
            given = self._through_cells(packed, block, told, observation, owner=owner, dealer=dealer)
        given = given.where(F.col("kind") != COUNTS)
        rows = given.select("kind", "payload") if dealer is None else given.select("target", "kind", "payload")
        stage = second_stage_of(plan)
        if stage is None:
            return _Handed(rows)
        groups: Dealt | None = None
        evaluated: DataFrame | None = None
        if plan.aggregate is not None:
            groups = deal(rows, plan, grid.keys)
            dealt = groups.rows
            told = (groups.plan.to_json(), *told[1:])
        elif plan.distinct_over_expressions:
            found = selected_and_told(rows, block.query, plan)
            for column in found.schema:
                require_comparable(column.name, column.dataType.simpleString())
            dealt = mapped(carried_rows(found), EvaluatedRedealer(Dealer(grid.keys)), DEALT)
            evaluated = found.drop(*TOLD)
        else:
            dealt = rows
        self.second_plans[plan.query] = plan if groups is None else groups.plan
        processor = SecondProcessor(
            *told,
            grid.keys,
            owner=owner,
            dealt_anew=shared.dealt_anew,
            segments=shared.segments,
            files=shared.files,
        )
        given = dealt.groupBy("target").transformWithState(StatefulStage(processor), RESULT, "append", "None")
        given = _observed(given, second_observation(observation), (*second_vocabulary(stage), *STAGE_TIMES))
        rows = given.where(F.col("kind") != COUNTS).select("kind", "payload")
        return _Handed(rows, groups, evaluated)

    def _through_cells(
        self,
        packed: DataFrame,
        block: PlacedBlock,
        told: tuple[str, str, str],
        observation: str,
        *,
        owner: str,
        dealer: Dealer | None,
    ) -> DataFrame:
        shared, plan, grid = self.shared, block.plan, block.grid
        kept_out = {promise.constraint for promise in plan.promises if promise.policy is Policy.QUARANTINE}
        writes = frozenset(kept_out - self._kept_out)
        self._kept_out |= kept_out
        processor = CellProcessor(
            *told,
            quarantine=shared.quarantine,
            writes=writes,
            patience=shared.patience,
            absent=worth_of_absence(shared.spark, plan),
            keys=grid.keys,
            archive=_archive(shared.spark, plan),
            turn=shared.turn,
            malformed_into=shared.malformed_into,
            owner=owner,
            named=shared.named,
            dealt_anew=shared.dealt_anew,
            segments=shared.segments,
            dealer=dealer,
            files=shared.files,
        )
        result = RESULT if dealer is None else DEALT_RESULT
        given = packed.groupBy("cell").transformWithState(StatefulStage(processor), result, "append", "None")
        return _observed(given, observation, (*vocabulary(plan), *CELL_TIMES))

    def _packed(self, block: PlacedBlock, observation: str, row: tuple[str, ...], along: DataFrame | None) -> DataFrame:
        """All streams of a block, and its end, as PACKED has it; malformed rows are observed under that name.

        What blocks of the row give is `along` already.
        """
        plan, grid = block.plan, block.grid
        by_name = {fold(name): frame for name, frame in self.shared.inputs.items()}
        script = self.shared.script.as_read_by(block.query)
        packed = along
        for name in plan.streams:
            if any(s.block == name for s in plan.sources):
                packed = self._with_blocks(packed, self._reader(plan.query, name), name, row)
                continue
            stream = script.stream(name)
            assert stream is not None
            in_order = depends_on_order(plan, stream.name)
            packer = Packer(plan, stream.name, grid, in_order, files=self.shared.files)
            given, left = by_name.get(fold(name)), self.shared.left_to_spark
            part = packed_stream(self.shared.spark, stream, packer, given, observation, left=left)
            packed = part if packed is None else packed.unionAll(part)
        assert packed is not None
        return packed if self.shared.end is None else packed.unionAll(self.shared.end.stream(self.shared.spark, grid))

    def _with_blocks(
        self, packed: DataFrame | None, reader: Reader, name: str, row: tuple[str, ...]
    ) -> DataFrame | None:
        """What is packed for a block with what others give it that are no blocks of the row."""
        members = next(s.members for s in reader.packer.plan.sources if s.block == name) or (name,)
        for member in (one for one in members if one not in row):
            below = self.blocks[member].stream
            assert below is not None
            answer = self.answer_and_told(member)
            part = packed_block(answer, below, reader.reading, reader.packer, reader.speakers)
            packed = part if packed is None else packed.unionAll(part)
        return packed


def _passed(shared: InCommon, packed: DataFrame, plan: Plan, observation: str) -> DataFrame | None:
    """What is given of a query that needs no state; None of others."""
    if not needs_no_state(plan) or shared.has_store:
        return None
    absent = worth_of_absence(shared.spark, plan)
    passing = Passing(plan, shared.patience, absent, shared.quarantine, shared.malformed_into, shared.files)
    return _observed(packed.mapInArrow(passing, RESULT), observation, counts_of_tasks(plan))


def _archive(spark: SparkSession, plan: Plan) -> WorkerFolder | None:
    """Where the workers archive; a folder of another file system is made here, since they make none."""
    named = archive_of(plan)
    if named is None:
        return None
    place = place_of(spark, named)
    if isinstance(place, HadoopPath):
        place.mkdir(parents=True, exist_ok=True)
    return worker_folder(spark, place)


def second_observation(observation: str) -> str:
    """How the counts of the second stage are observed."""
    return f"{observation}_distinct"


def leaves_out(query: Query, plan: Plan) -> bool:
    """Whether Spark leaves out rows that the last stage gives: by HAVING, or by a condition on joined rows."""
    return query.having is not None or (bool(plan.conditions) and second_stage_of(plan) is None)


def answer_observation(observation: str) -> str:
    """How the rows of the answer are counted, where some of what the last stage gives is left out."""
    return f"{observation}_answer"


def _observed(given: DataFrame, name: str, counts: Iterable[Count]) -> DataFrame:
    """With the counts observed. Rows of another kind have none, so NULLs: Spark plans these anew in every batch."""
    measures, numbers = [], F.col("counts")
    for count, start in placed(counts):
        taken = numbers[start] if count.width == 1 else F.slice(numbers, start + 1, count.width)
        taken_together = F.min if count.is_least else F.max if count.same_everywhere else F.sum
        measures.append(taken_together(taken).alias(count.name))
    return given.observe(name, *measures)


def require_comparable(column: str, kind: str) -> None:
    """Raise UsageError where DISTINCT cannot compare a column."""
    if "VARIANT" in kind.upper():
        raise UsageError(f"DISTINCT cannot compare {column}, a {kind}: Spark has no equality for VARIANT")
