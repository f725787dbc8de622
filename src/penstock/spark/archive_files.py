"""The archive of a budget as files: what each step of each cell adds, written once.

A cell writes what a batch adds as one folder, `cell-<n>/<batch>`, before the batch commits; it is made aside and then
renamed. A batch that is replayed gives the same rows, so a folder that is there is left as it is.
"""

from __future__ import annotations

import json
import shutil
import uuid
from pathlib import Path
from urllib.parse import urlparse

import pyarrow.parquet as pq

from penstock.errors import DataError, NotSupportedYet
from penstock.plan.plan import Plan
from penstock.runtime.budget.archive import Archived

_COUNTS = "counts.json"


def archive_of(plan: Plan) -> str | None:
    """The folder of the query's archive; a relative path is against the driver's working directory."""
    if plan.evict is None or plan.evict.archive is None:
        return None
    parsed = urlparse(plan.evict.archive)
    if parsed.scheme not in ("", "file"):
        raise NotSupportedYet(
            f"ARCHIVE('{plan.evict.archive}') is no folder of a disk",
            detail="each cell looks at what it archived before, which it can on disks alone",
            hint="name a folder on a disk that every host of the cluster sees",
        )
    return str(Path(parsed.path if parsed.scheme else plan.evict.archive).absolute())


def write_archived(root: str, plan: Plan, cell: int, batch: int, archived: Archived) -> None:
    """Write what one step of one cell adds."""
    folder = Path(root) / f"cell-{cell:05d}"
    target = folder / f"{batch:09d}"
    if batch == 0 and any(batch_of(other) > 0 for other in batches_in(folder)):
        raise DataError(
            f"the archive {root} holds rows of another run",
            hint="a new checkpoint needs a new ARCHIVE; join and remove the old one, or name another path",
        )
    if target.exists() or not (archived.rows or archived.left):
        return
    aside = folder / f".{target.name}-{uuid.uuid4().hex}"
    aside.mkdir(parents=True)
    for kind, tables in (("rows", archived.rows), ("left", archived.left)):
        for alias, table in tables.items():
            pq.write_table(table, aside / f"{kind}-{plan.aliases.index(alias)}.parquet")
    (aside / _COUNTS).write_text(json.dumps(archived.counts), encoding="utf-8")
    try:
        aside.rename(target)
    except OSError:
        # Another attempt of the same task was faster, with the same rows.
        shutil.rmtree(aside)


def batches_in(folder: Path) -> list[Path]:
    """The folders of the batches of a cell, in order."""
    return sorted(path for path in folder.glob("[0-9]*") if path.is_dir()) if folder.exists() else []


def batch_of(folder: Path) -> int:
    """The batch that a folder is of."""
    return int(folder.name)


def read_archived(plan: Plan, folder: Path, upto: int) -> list[Archived]:
    """What the archive of a cell holds up to a batch."""
    found = []
    for batch in batches_in(folder):
        if batch_of(batch) > upto:
            break
        parts: dict[str, dict[str, object]] = {"rows": {}, "left": {}}
        for file in sorted(batch.glob("*.parquet")):
            kind, number = file.stem.split("-")
            parts[kind][plan.aliases[int(number)]] = pq.read_table(file)
        counts = {s: (before, n) for s, (before, n) in json.loads((batch / _COUNTS).read_text("utf-8")).items()}
        found.append(Archived(parts["rows"], parts["left"], counts, batch_of(batch)))
    return found
