"""Makes the checkpoint of a release, with the answer so far: `python -m tests.kept.make tests/kept/0.2.0.tar.gz`.

It runs the `penstock` of the Python that runs it. Paths in the checkpoint are those of the folder that it was made in,
which need not be there any more: what was read is done with.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

Row = Mapping[str, Any]
SCRIPT = """
CREATE STREAM s (k BIGINT, n BIGINT, name STRING, ts TIMESTAMP, EVENT TIME ts, ORDERED BY ts WITHIN 5 SECONDS)
  USING json OPTIONS (path '{folder}/s', maxFilesPerTrigger '1');
CREATE STREAM t (k BIGINT, n BIGINT, name STRING, ts TIMESTAMP, EVENT TIME ts, ORDERED BY ts WITHIN 5 SECONDS)
  USING json OPTIONS (path '{folder}/t', maxFilesPerTrigger '1');
CREATE SINK pairs USING json OPTIONS (path '{folder}/pairs');
CREATE SINK alone USING json OPTIONS (path '{folder}/alone');
CREATE SINK counts USING json OPTIONS (path '{folder}/counts');
INSERT INTO pairs SELECT s.n, t.name FROM s, t
  WHERE s.k = t.k AND t.ts - s.ts BETWEEN INTERVAL -20 SECONDS AND INTERVAL 20 SECONDS;
INSERT INTO alone SELECT s.n FROM s WHERE NOT EXISTS (SELECT 1 FROM t
  WHERE s.k = t.k AND t.ts - s.ts BETWEEN INTERVAL -20 SECONDS AND INTERVAL 20 SECONDS);
INSERT INTO counts SELECT s.k, count(*) AS c FROM s GROUP BY s.k, window(s.ts, '30 seconds');
"""
SINKS = ("pairs", "alone", "counts")
BATCHES = 6
"""Of which the first half is in the checkpoint."""


def rows(stream: str, batch: int) -> list[dict[str, Any]]:
    """The rows of a batch: ten seconds each, in no order."""
    first = 10 * batch
    numbers = [(number * 7 + len(stream) * batch) % 10 for number in range(8)]
    return [
        {
            "k": (number + batch) % 4,
            "n": 100 * batch + place,
            "name": f"{stream}{number}",
            "ts": at(first + number // 3),
        }
        for place, number in enumerate(numbers)
    ]


def at(second: int) -> str:
    """A time, as JSON has it."""
    return f"2026-01-01T00:{second // 60:02d}:{second % 60:02d}Z"


def fill(folder: Path, batches: Sequence[int]) -> None:
    """Write the files of some batches."""
    for stream in ("s", "t"):
        (folder / stream).mkdir(parents=True, exist_ok=True)
        for batch in batches:
            lines = "".join(json.dumps(row) + "\n" for row in rows(stream, batch))
            (folder / stream / f"{batch}.json").write_text(lines)


def answers(folder: Path) -> dict[str, list[str]]:
    """By sink, the lines that it holds, sorted."""
    return {
        sink: sorted(line for file in (folder / sink).glob("*.json") for line in file.read_text().splitlines())
        for sink in SINKS
    }


def main(target: Path) -> None:
    """Make it."""
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        fill(folder, range(BATCHES // 2))
        (folder / "script.sql").write_text(SCRIPT.replace("{folder}", made))
        command = [sys.executable, "-m", "penstock", "run", str(folder / "script.sql"), "--available-now"]
        small = ["--conf", "spark.sql.shuffle.partitions=2", "--conf", "penstock.cells=2"]
        subprocess.run([*command, "--allow-unbounded", "--checkpoint", str(folder / "checkpoint"), *small], check=True)
        (folder / "answers.json").write_text(json.dumps(answers(folder), indent=1))
        with tarfile.open(target, "w:gz", compresslevel=9) as packed:
            for name in ("checkpoint", "answers.json"):
                packed.add(folder / name, name, filter=lambda one: None if one.name.endswith(".crc") else one)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
