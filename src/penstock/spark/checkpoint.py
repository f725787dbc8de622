"""A checkpoint belongs to one query: what it was made for lies beside Spark's own files, and anything else is refused.

What decides the state is compared (`essence.py`). While a run goes on it holds a lock on the folder (`run_lock.py`),
which lies wherever Spark can keep a checkpoint (`hadoop_path.py`).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass

from pyspark.sql import SparkSession

from penstock.errors import DataError, UsageError
from penstock.explain.changed_text import changes
from penstock.plan.plan import Plan
from penstock.plan.stateless import needs_no_state
from penstock.runtime.exactness import Exactness
from penstock.runtime.input.grid import Grid, copies_what_is_kept_out
from penstock.runtime.input.split_keys import may_split
from penstock.runtime.takeover import obstacle
from penstock.spark.cells import CELLS, key_of
from penstock.spark.essence import (
    CELLS_KEPT,
    FORMAT,
    SPLITS_KEPT,
    Essence,
    blocks_of,
    cells_kept,
    differences,
    is_same_but_for_plans,
    kept_cells,
    select_of,
)
from penstock.spark.final import End
from penstock.spark.hadoop_path import AnyPath, HadoopPath, place_of, remove_folder, replace_text, worker_folder
from penstock.spark.named_parts import Named, NamedParts
from penstock.spark.run_lock import RunLock
from penstock.spark.segment_files import LEAST_KEPT, SETTING, SegmentFiles, least_bytes, of_cells_gone
from penstock.spark.worker_files import MAKE_ROOM

Lines = Sequence[Sequence[str]]
"""The query as it is written (`explain/changed_text.py`)."""
_WRITTEN = "as it is written"
_PLANS = "plans"
"""Whole, in words too, for whoever looks at the state."""
_DEALT = "dealt anew after batch"
"""Of state that was dealt to other cells."""
Grids = Mapping[str, Grid]
"""By block, its cells."""


@dataclass(frozen=True)
class BlockPlans:
    """The plan of a block, and that of its second stage if it has one."""

    cells: Plan
    second: Plan | None = None


def checkpoint_root(spark: SparkSession, name: str) -> AnyPath:
    """Where checkpoints of that name lie; raises UsageError if Spark does not know the file system."""
    try:
        return place_of(spark, name)
    except OSError as error:
        raise UsageError(
            f"--checkpoint {name}: Spark does not reach this file system",
            detail=str(error),
            hint="give Spark its connector and settings: docs/operations.md says which",
        ) from None


class Checkpoint:
    """The folder of one query under `--checkpoint DIR`."""

    def __init__(self, root: AnyPath, query: str) -> None:
        if query in (".", "..") or "/" in query:
            raise UsageError(
                f"query {query} cannot have a folder of its name under --checkpoint",
                hint="give its sink a plainer name",
            )
        self.folder = root / query
        self.query = query
        self._lock = RunLock(self.folder)
        self.end = End(self.folder)

    @property
    def spark(self) -> AnyPath:
        """Where Spark keeps offsets, commits and state."""
        return self.folder / "spark"

    @property
    def quarantine(self) -> AnyPath:
        """Where quarantined rows are written."""
        return self.folder / "quarantine"

    def segment_files(self, spark: SparkSession) -> SegmentFiles:
        """Where large segments of the state are written, and for how long they stay: as long as Spark keeps its own."""
        kept = int(spark.conf.get("spark.sql.streaming.minBatchesToRetain") or 0)
        least = least_bytes(spark.conf.get(SETTING, None))
        return SegmentFiles(worker_folder(spark, self.folder / "segments"), max(LEAST_KEPT, kept), least)

    @property
    def _plan_file(self) -> AnyPath:
        return self.folder / "plan.json"

    @property
    def is_new(self) -> bool:
        """Whether no query has started on it yet."""
        return not self._plan_file.exists() and not self.spark.exists()

    def _known(self) -> Essence | None:
        """What the folder was made for, None if it is new; raises DataError on what cannot be read."""
        if not self._plan_file.exists():
            if self.spark.exists():
                raise DataError(
                    f"{self.folder} holds a checkpoint without the plan it was made for",
                    hint="it is damaged, or not Penstock's: use another --checkpoint",
                )
            return None
        try:
            known = json.loads(self._plan_file.read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise DataError(f"{self._plan_file} cannot be read: {error}", hint="the checkpoint is damaged") from error
        if not isinstance(known, dict):
            raise DataError(f"{self._plan_file} holds no plan", hint="the checkpoint is damaged")
        return known

    def essence(self) -> Essence | None:
        """What the folder says that it is of; None if it is new."""
        known = self._known()
        beside = (_WRITTEN, _PLANS, _DEALT)
        return None if known is None else {name: value for name, value in known.items() if name not in beside}

    def cells(self) -> Grids:
        """By block, the cells that its state lies in; none of a folder that is new."""
        known = self._known() or {}
        essences = (known, *blocks_of(known))
        return {one["query"]: cells_kept(one) for one in essences if "query" in one and CELLS_KEPT in one}

    def require(self, now: Essence, lines: Lines = (), plans: Sequence[BlockPlans] = ()) -> list[str]:
        """What has changed of the query and can be taken over, a phrase for each; nothing is touched.

        Raises if the folder is of another query, of other columns or other cells. `lines` are the query as it is
        written, in which the user finds what differs; `plans` are those that it is run by.
        """
        whole, known = self._known(), self.essence()
        if whole is None or known is None:
            return []
        written = whole.get(_WRITTEN, ())
        format_then, format_now = (one.get(FORMAT, 1) for one in (known, now))
        if format_then != format_now:
            raise UsageError(
                f"the checkpoint {self.folder} was written by another version of Penstock",
                detail=f"its state is of format {format_then}; this version reads and writes format {format_now}",
                hint="use another --checkpoint, or go on with the version that wrote it",
            )
        differing = differences(known, now)
        if differing:
            told = (changes(written, lines) if written else []) or differing
            stands = self._stands_against(known, now, plans)
            if stands is None:
                return told
            raise UsageError(
                f"the checkpoint {self.folder} was made by another query or with other settings",
                detail="; ".join((*told, *stands)),
                hint=f"leave out {CELLS}: the cells stay those that it began with"
                if all(name.startswith(f"{CELLS_KEPT}: ") for name in differing)
                else "run what it was made for, or use another --checkpoint",
            )
        return []

    def _stands_against(self, known: Essence, now: Essence, plans: Sequence[BlockPlans]) -> list[str] | None:
        """What keeps a changed query from going on with this state, if it is worth saying; None if nothing does."""
        if not plans or not is_same_but_for_plans(known, now):
            return []
        if self.has_state and not self.has_store and not all(needs_no_state(both.cells) for both in plans):
            return ["it has needed no state so far, and what it would need now was not kept"]
        then = self.plans()
        for number, both in enumerate(plans):
            name = both.cells.query
            if name not in then or (then[name].second is None) != (both.second is None):
                return []
            selects = [select_of(one, name) for one in (known, now)]
            if selects[0] != selects[1] and (number or both.second is not None):
                return ["the state remembers what was selected"]
            pairs = [(then[name].cells, both.cells), (then[name].second, both.second)]
            for before, after in pairs:
                if before is not None and after is not None and (what := obstacle(before, after)) is not None:
                    return [what]
        for both in plans:
            grid = self.cells()[both.cells.query]
            if not all(may_split(both.cells, split) for split in grid.splits):
                return ["keys of it are split over cells, and the rows of the changed query must lie together"]
            if copies_what_is_kept_out(both.cells, grid):
                return ["its rows lie in several cells each, and a match would put them into quarantine in one"]
        if self.is_dealt_anew():
            return ["it has had no batch since its state was last dealt anew: run it as it was once there is one"]
        if (begun := self.batch_under_way) is not None:
            return [f"batch {begun} is under way: run it as it was once, with --available-now, so that it ends"]
        return None

    @property
    def batch_under_way(self) -> int | None:
        """A batch that was begun and not committed: parts of its state may lie in Spark's store, as they were made."""
        begun = self._last("offsets")
        return begun if begun > self._last("commits") else None

    def succeed(self, now: Essence, lines: Lines, plans: Sequence[BlockPlans]) -> None:
        """Make the folder the changed query's, whose state lies in `dealt_anew` from now on."""
        self._write_plan({**now, _DEALT: self._last("commits")}, lines, plans)

    @property
    def has_store(self) -> bool:
        """Whether Spark has a state store in it."""
        return (self.spark / "state").exists()

    @property
    def has_state(self) -> bool:
        """Whether a batch was committed."""
        return self._last("commits") >= 0

    @property
    def _exactness_file(self) -> AnyPath:
        return self.folder / "exact.json"

    def exactness(self) -> Exactness:
        """What stood against the answer being exact when the last run ended, however it ended."""
        if not self._exactness_file.exists():
            known = Exactness()
        else:
            try:
                known = Exactness(**json.loads(self._exactness_file.read_text(encoding="utf-8")))
            except (OSError, ValueError, TypeError) as error:
                raise DataError(
                    f"{self._exactness_file} cannot be read: {error}", hint="delete it, if the answer was exact"
                ) from error
        return known.unseen_upto(self._last("commits"))

    def keep_exactness(self, known: Exactness) -> None:
        """Keep it for the next run."""
        with self._writing():
            replace_text(self._exactness_file, json.dumps(asdict(known), ensure_ascii=False))

    @property
    def _parts_file(self) -> AnyPath:
        return self.folder / "parts.json"

    def named(self, now: Named) -> NamedParts:
        """What sources have named since the checkpoint began, and what they name from the next batch on."""
        if not self._parts_file.exists():
            known = NamedParts()
        else:
            try:
                known = NamedParts.from_json(self._parts_file.read_text(encoding="utf-8"))
            except (OSError, ValueError, TypeError, AttributeError) as error:
                raise DataError(
                    f"{self._parts_file} cannot be read: {error}", hint="the checkpoint is damaged"
                ) from error
        known.require_same_names(now)
        return known.then(self._last("offsets") + 1, now)

    def keep_named(self, named: NamedParts) -> None:
        """Keep it for the next run."""
        if named.since:
            with self._writing():
                replace_text(self._parts_file, named.to_json())

    def declare_end(self) -> None:
        """Say that the streams have ended."""
        with self._writing():
            self.end.declare()

    def confirm_end(self) -> None:
        """Say that all that waited was decided."""
        with self._writing():
            self.end.confirm()

    @contextmanager
    def _writing(self) -> Iterator[None]:
        """What the machine says if the folder cannot be written, in a sentence."""
        try:
            yield
        except OSError as error:
            raise DataError(
                f"cannot write to the checkpoint {self.folder}: {error.strerror or error}",
                hint=MAKE_ROOM,
            ) from error

    def hold(self, spark: SparkSession, say: Callable[[str], None] | None = None) -> None:
        """Keep other runs from the folder until `release`; raises DataError if one is at work on it."""
        with self._writing():
            # Workers that are not on its file system put files into the second, and make no folder.
            for folder in (self.folder, *((self.quarantine,) if isinstance(self.folder, HadoopPath) else ())):
                folder.mkdir(parents=True, exist_ok=True)
            self._lock.hold(spark, say)

    def wait_for_the_last_run(self, spark: SparkSession, say: Callable[[str], None] | None) -> None:
        """Wait until what is left of a run that was killed has ended, so that what is here can be read."""
        if self.folder.is_dir():
            self.hold(spark, say)
            self.release()

    def release(self) -> None:
        """Let others use the folder."""
        self._lock.release()

    def plans(self) -> dict[str, BlockPlans]:
        """By block, the plans that the state was made by, those of the one on top first."""
        known = self._known() or {}
        try:
            return {
                name: BlockPlans(*(None if plan is None else Plan.from_dict(plan) for plan in both))  # type: ignore[arg-type]
                for name, both in known[_PLANS].items()
            }
        except (KeyError, AttributeError, TypeError, ValueError) as error:
            raise DataError(
                f"{self.folder} was written by another version of Penstock: it does not say by which plan",
                hint="use the version that wrote it; docs/operations.md says how to go on",
            ) from error

    @property
    def dealt_anew(self) -> AnyPath:
        """Where state lies that was dealt to other cells."""
        return self.folder / "dealt_anew"

    @property
    def awaits_takeover(self) -> bool:
        """Whether cells are still to take over what was dealt to them."""
        known = self._known() or {}
        return _DEALT in known and bool(self._last("commits") <= known[_DEALT])

    def is_dealt_anew(self) -> bool:
        """The same; what all have taken over is removed."""
        known = self._known() or {}
        if _DEALT not in known or self.awaits_takeover:
            return _DEALT in known
        with self._writing():
            remove_folder(self.dealt_anew)
            self._sweep_segments()
            del known[_DEALT]
            replace_text(self._plan_file, json.dumps(known, indent=1, ensure_ascii=False))
        return False

    def _sweep_segments(self) -> None:
        """Remove the files of cells that are no more: those that took over have their own."""
        folder = self.folder / "segments"
        if folder.is_dir():
            keys = map(key_of, range(max(grid.cells for grid in self.cells().values())))
            for name in of_cells_gone([file.name for file in folder.iterdir()], keys):
                (folder / name).unlink()

    def deal_anew(self, cells: Grids) -> None:
        """Say that the state lies in other cells from now on."""
        known = self._known() or {}
        for one in (known, *blocks_of(known)):
            one.pop(SPLITS_KEPT, None)
            one.update(kept_cells(cells[one["query"]]))
        known[_DEALT] = self._last("commits")
        with self._writing():
            replace_text(self._plan_file, json.dumps(known, indent=1, ensure_ascii=False))

    def _last(self, log: str) -> int:
        """The last batch in a log of Spark's; -1 if there is none."""
        folder = self.spark / log
        return max((int(f.name) for f in folder.iterdir() if f.name.isdigit()), default=-1) if folder.is_dir() else -1

    def adopt(self, now: Essence, lines: Lines = (), plans: Sequence[BlockPlans] = ()) -> None:
        """Make the folder this query's, which is written as the lines say and run by these plans."""
        if not self._plan_file.exists():
            self._write_plan(now, lines, plans)

    def _write_plan(self, now: Essence, lines: Lines, plans: Sequence[BlockPlans]) -> None:
        with self._writing():
            self.folder.mkdir(parents=True, exist_ok=True)
            both = {
                one.cells.query: [None if plan is None else plan.to_dict() for plan in (one.cells, one.second)]
                for one in plans
            }
            whole = {**now, _WRITTEN: lines, _PLANS: both}
            replace_text(self._plan_file, json.dumps(whole, indent=1, ensure_ascii=False))
