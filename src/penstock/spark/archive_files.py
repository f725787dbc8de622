"""The archive of a budget as files: what each step of each cell adds, written once.

A cell writes what a batch adds as one file, `cell-<n>/<batch>.zip`, before the batch commits: Parquet of the rows that
came and of those that were evicted, and the counts. It lies wherever workers can write (`worker_files.py`), and appears
whole or not at all. A batch that is replayed gives the same rows, so a file that is there may be written again.
"""

from __future__ import annotations

import io
import json
import zipfile
from pathlib import Path
from urllib.parse import urlparse

import pyarrow as pa
import pyarrow.parquet as pq

from penstock.errors import DataError
from penstock.plan.plan import Plan
from penstock.runtime.budget.archive import Archived
from penstock.spark.worker_files import WorkerFolder, path_written

_COUNTS = "counts.json"
_SUFFIX = ".zip"


def archive_of(plan: Plan) -> str | None:
    """The place of the query's archive, a path or a URI; a relative path is against the driver's working directory."""
    if plan.evict is None or plan.evict.archive is None:
        return None
    if urlparse(plan.evict.archive).scheme not in ("", "file"):
        return plan.evict.archive
    return str(Path(path_written(plan.evict.archive)).absolute())


def cell_name(cell: int) -> str:
    """The folder of a cell within the archive."""
    return f"cell-{cell:05d}"


def write_archived(place: WorkerFolder, plan: Plan, cell: int, batch: int, archived: Archived) -> None:
    """Write what one step of one cell adds."""
    folder = cell_name(cell)
    if batch == 0 and any(other > 0 for other in batches_in(place.names(folder))):
        raise DataError(
            f"the archive {place.root} holds rows of another run",
            hint="a new checkpoint needs a new ARCHIVE; join and remove the old one, or name another path",
        )
    if archived.rows or archived.left:
        place.write_bytes({f"{folder}/{batch:09d}{_SUFFIX}": _packed(plan, archived)})


def _packed(plan: Plan, archived: Archived) -> bytes:
    whole = io.BytesIO()
    with zipfile.ZipFile(whole, "w") as packed:
        for kind, tables in (("rows", archived.rows), ("left", archived.left)):
            for alias, table in tables.items():
                sink = pa.BufferOutputStream()
                pq.write_table(table, sink)
                packed.writestr(f"{kind}-{plan.aliases.index(alias)}.parquet", bytes(sink.getvalue()))
        packed.writestr(_COUNTS, json.dumps(archived.counts))
    return whole.getvalue()


def batches_in(names: list[str]) -> list[int]:
    """The batches that the files of a cell are of, in order."""
    return sorted(int(name.removesuffix(_SUFFIX)) for name in names if name.endswith(_SUFFIX) and name[0].isdigit())


def read_archived(plan: Plan, place: WorkerFolder, cell: str, upto: int) -> list[Archived]:
    """What the archive of a cell holds up to a batch."""
    with place.brought(cell) as folder:
        names = [path.name for path in folder.iterdir()]
        return [
            _unpacked(plan, folder / f"{batch:09d}{_SUFFIX}", batch) for batch in batches_in(names) if batch <= upto
        ]


def _unpacked(plan: Plan, file: Path, batch: int) -> Archived:
    parts: dict[str, dict[str, object]] = {"rows": {}, "left": {}}
    with zipfile.ZipFile(file) as packed:
        for name in sorted(one for one in packed.namelist() if one != _COUNTS):
            kind, number = name.removesuffix(".parquet").split("-")
            parts[kind][plan.aliases[int(number)]] = pq.read_table(io.BytesIO(packed.read(name)))
        counts = {stream: (before, n) for stream, (before, n) in json.loads(packed.read(_COUNTS)).items()}
    return Archived(parts["rows"], parts["left"], counts, batch)
