"""`penstock bench peers`: other stream processors on the ordinary join, each as its own guide has it, on the same rows.

Orders and payments of `penstock bench shapes`, joined by a UUID string within an hour, read from lines of JSON: two
files a stream, rows in turn and in order, so that each of two threads reads one. All seconds of a process count, its
start included, for nobody's batches are anybody else's. Peers come from the package registry, by name and version,
each into an environment of its own under build/peers; one that cannot be had is told and left out.

What they keep over a crash differs: Penstock and Spark commit every batch, Flink takes a checkpoint every ten seconds,
Pathway keeps nothing here. Bytewax has joins by windows, none by an interval, so it cannot answer.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pv
from benchmarks.packets.memory import Watched, run_watched
from benchmarks.packets.oracle import read_answer
from benchmarks.packets.report import machine, table, write_docs
from benchmarks.packets.runs import ROOT, fresh
from benchmarks.shapes.data import Size, write
from benchmarks.shapes.measures import DEFAULT, PENSTOCK, run_one
from benchmarks.shapes.shapes import PAIR, SHAPES

from penstock.errors import PenstockError
from penstock.spark.session import need_java

BUILD = ROOT / "build"
PAGE = ROOT / "docs" / "performance.md"
MARK = "<!-- figures: penstock bench peers --write-docs -->"
FULL, QUICK = Size(2_000_000, 5), Size(60_000, 3)
FILES = 2
HERE = Path(__file__).parent
NAMES = ("id", "method", "fee")


@dataclass(frozen=True)
class Peer:
    """A stream processor, and where it comes from."""

    name: str
    package: str
    job: str
    environment: tuple[tuple[str, str], ...] = ()


PEERS = (
    Peer("Flink 2.3.0, interval join", "apache-flink==2.3.0", "flink_job.py"),
    Peer("Pathway 0.33.0, interval join", "pathway==0.33.0", "pathway_job.py", (("PATHWAY_THREADS", "2"),)),
)


@dataclass(frozen=True)
class Found:
    """What one system did."""

    system: str
    seconds: float
    peak: int
    rows_out: int
    right: bool

    def rate(self, size: Size) -> float:
        """Rows a second, the start included."""
        return size.rows / self.seconds


def main(arguments: Sequence[str]) -> int:
    """Run all systems; 0 if all that ran give the same answer."""
    given = _parser().parse_args(arguments)
    need_java()
    size = QUICK if given.quick else FULL
    began = time.perf_counter()

    def say(what: str) -> None:
        sys.stderr.write(f"[{time.perf_counter() - began:6.0f} s] {what}\n")

    (BUILD / "bench").mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(dir=BUILD / "bench") as folder:
        found = list(_all(size, Path(folder), say, given.only))
    lines = as_text(size, found)
    print("\n".join(lines))
    given.json.write_text(json.dumps([asdict(one) for one in found], indent=1), encoding="utf-8")
    if given.write_docs:
        write_docs(PAGE, lines, MARK)
    return 0 if found and all(one.right for one in found) else 1


def _all(size: Size, folder: Path, say: Callable[[str], None], only: Sequence[str] | None) -> Iterator[Found]:
    together, apart = folder / "batches", folder / "data"
    write(together, PAIR, size, "json")
    _in_two_files(together, apart)
    ours: Any = None
    for system in (PENSTOCK, DEFAULT):
        place = fresh(folder / "run")
        watched = run_one(SHAPES["json"], size, together, place, system)
        answer = _in_order(read_answer(place / "out").select(list(NAMES)))
        ours = answer if ours is None else ours
        say(f"{system}: {watched.seconds:.1f} s")
        yield Found(system, watched.seconds, watched.peak, answer.num_rows, answer.equals(ours))
    for peer in PEERS:
        if only and peer.name.split()[0].lower() not in only:
            continue
        place = fresh(folder / "run")
        try:
            watched = _run(peer, apart, place)
        except (PenstockError, subprocess.SubprocessError) as error:
            say(f"{peer.name}: left out, {error}")
            continue
        answer = _in_order(_read(place / "out"))
        say(f"{peer.name}: {watched.seconds:.1f} s")
        yield Found(peer.name, watched.seconds, watched.peak, answer.num_rows, answer.equals(ours))


def _in_two_files(given: Path, into: Path) -> None:
    """The lines of each stream in two files, in turn, each in the order of arrival."""
    for stream in PAIR:
        (into / stream).mkdir(parents=True)
        lines = [line for file in sorted((given / stream).iterdir()) for line in file.read_bytes().splitlines(True)]
        for number in range(FILES):
            (into / stream / f"{number}.json").write_bytes(b"".join(lines[number::FILES]))


def _run(peer: Peer, data: Path, home: Path) -> Watched:
    python = BUILD / "peers" / peer.package.replace("==", "-") / "bin" / "python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", str(python.parents[1])], check=True)
        install = [str(python), "-m", "pip", "install", "-q", "--disable-pip-version-check", peer.package]
        subprocess.run(install, check=True, timeout=900)
    (home / "out").mkdir()
    command = [str(python), str(HERE / peer.job), str(data), str(home / "out")]
    return run_watched(command, home / "log", {**dict(peer.environment), "PYTHONPATH": ""})


def _read(folder: Path) -> Any:
    """What a peer wrote, as CSV with a header or without."""
    tables = []
    for file in sorted(path for path in folder.rglob("*") if path.is_file() and path.stat().st_size):
        first = file.read_bytes().partition(b"\n")[0]
        # A header names the fee; what stands behind it is the peer's own.
        others = [f"_{n}" for n in range(first.count(b",") + 1 - len(NAMES))]
        options = pv.ReadOptions(column_names=[*NAMES, *others], skip_rows=int(b"fee" in first))
        types = pv.ConvertOptions(column_types={"id": pa.string(), "method": pa.string(), "fee": pa.int32()})
        tables.append(pv.read_csv(file, read_options=options, convert_options=types).select(list(NAMES)))
    empty = pa.table(
        {"id": pa.array([], pa.string()), "method": pa.array([], pa.string()), "fee": pa.array([], pa.int32())}
    )
    return pa.concat_tables([empty, *tables])


def _in_order(answer: Any) -> Any:
    plain = pa.table({name: pc.cast(answer.column(name), answer.schema.field(name).type) for name in NAMES})
    return plain.sort_by([(name, "ascending") for name in NAMES]).combine_chunks()


def as_text(size: Size, found: Sequence[Found]) -> list[str]:
    """The figures, line by line."""
    lines = [["system", "rows/s, start included", "seconds", "peak MiB", "answer", "ours: times"]]
    for one in found:
        answer = f"{one.rows_out:,}" if one.right else f"{one.rows_out:,} OTHERS"
        figures = [f"{one.rate(size):,.0f}", f"{one.seconds:.1f}", f"{one.peak / 2**20:,.0f}", answer]
        lines.append([one.system, *figures, f"{one.seconds / found[0].seconds:.2f}"])
    return [f"{size.rows:,} rows; Penstock and Spark in {size.batches} batches", machine(), "", *table(lines)]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="penstock bench peers", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a small size: only answers are judged")
    names = [peer.name.split()[0].lower() for peer in PEERS]
    parser.add_argument("--only", action="append", choices=names, help="a peer; may be repeated")
    parser.add_argument(
        "--json", type=Path, default=BUILD / "bench" / "peers.json", metavar="FILE", help="where figures go"
    )
    parser.add_argument("--write-docs", action="store_true", help="put the figures into docs/performance.md")
    return parser
