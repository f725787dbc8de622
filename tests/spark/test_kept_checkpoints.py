"""Each release reads the checkpoint of its predecessor, or says how to go on: one of each is kept (`tests/kept`)."""

from __future__ import annotations

import json
import re
import tarfile
from collections import Counter
from pathlib import Path
from typing import Any

from typer.testing import CliRunner

from penstock.cli import app
from tests.kept.make import BATCHES, SCRIPT, answers, fill, rows
from tests.spark.conftest import Bench

KEPT = Path(__file__).parents[1] / "kept"
LAST = "0.2.0"
"""The release whose state this version must read; with `make.py` a new one is kept at each release."""


def unpacked(bench: Bench, release: str) -> dict[str, list[str]]:
    """A checkpoint of a release, in the place of the bench's own; gives the answer of the release that made it."""
    with tarfile.open(KEPT / f"{release}.tar.gz") as packed:
        packed.extractall(bench.folder, filter="data")
    for file in (path for path in (bench.folder / "checkpoint").rglob("*") if path.is_file()):
        # Spark writes where its files lie.
        text = file.read_bytes()
        file.write_bytes(re.sub(rb"file:/[^\"]*?/checkpoint/", f"file:{bench.folder}/checkpoint/".encode(), text))
    found: dict[str, list[str]] = json.loads((bench.folder / "answers.json").read_text())
    return found


def expected() -> dict[str, Counter[str]]:
    """The answers over all rows, at the end of the streams."""
    s, t = ([row for batch in range(BATCHES) for row in rows(stream, batch)] for stream in ("s", "t"))

    def second(row: dict[str, Any]) -> int:
        return int(row["ts"][14:16]) * 60 + int(row["ts"][17:19])

    pairs = [(a, b) for a in s for b in t if a["k"] == b["k"] and abs(second(a) - second(b)) <= 20]
    met = {a["n"] for a, _ in pairs}
    windows = Counter((a["k"], second(a) // 30) for a in s)
    return {
        "pairs": Counter(f'{{"n":{a["n"]},"name":"{b["name"]}"}}' for a, b in pairs),
        "alone": Counter(f'{{"n":{a["n"]}}}' for a in s if a["n"] not in met),
        "counts": Counter(f'{{"k":{k},"c":{c}}}' for (k, _), c in windows.items()),
    }


def test_the_checkpoint_of_the_last_release_is_gone_on_with(bench: Bench) -> None:
    before = unpacked(bench, LAST)
    for sink in before:
        # What was written is kept as text, not as files; a sink that is gone would be told.
        (bench.folder / sink).mkdir()
    fill(bench.folder, range(BATCHES // 2, BATCHES))
    ran = bench.run(SCRIPT.replace("{folder}", str(bench.folder)), final=True)
    assert ran.code == 0, ran.err
    after = answers(bench.folder)
    assert {sink: Counter(before[sink]) + Counter(after[sink]) for sink in before} == expected()
    assert before["pairs"], "it had begun to answer"
    assert all(line["batch"] >= BATCHES // 2 for line in ran.batches)


def test_a_checkpoint_of_0_1_0_is_refused_with_the_way_out(bench: Bench) -> None:
    unpacked(bench, "0.1.0")
    fill(bench.folder, range(BATCHES // 2, BATCHES))
    ran = bench.run(SCRIPT.replace("{folder}", str(bench.folder)))
    assert ran.code == 2
    assert "was written by another version of Penstock" in ran.err
    assert "its state is of format 1; this version reads and writes format 2" in ran.err
    assert "use another --checkpoint, or go on with the version that wrote it" in ran.err
    assert not (bench.folder / "pairs").exists()
    for command in ("state", "rescale --cells 2"):
        name, *more = command.split()
        told = CliRunner().invoke(app, [name, str(bench.folder / "checkpoint"), *more])
        assert told.exit_code == 1
        assert "was written by another version of Penstock" in told.stderr
