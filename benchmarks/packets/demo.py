"""`make demo`: packets written, checked, joined on Spark, and a short table at the end.

    python -m benchmarks.packets.demo write FOLDER SECONDS   the packets and the script
    python -m benchmarks.packets.demo table FOLDER           what the run did, beside a direct join of the files

The shell script runs `penstock check` and `penstock run` in between, as a user would.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from benchmarks.packets.data import RATES, script, write_packets
from benchmarks.packets.oracle import read_answer, right_answer, same_bag, window_rows

BATCH_SECONDS = 20
FILES_A_BATCH = 2


def write(folder: Path, seconds: int) -> None:
    """Make the packets and the script that joins them."""
    rows = write_packets(folder / "data", seconds, BATCH_SECONDS / FILES_A_BATCH)
    text = script(folder / "data", folder / "matched", FILES_A_BATCH)
    (folder / "packets.sql").write_text(text, encoding="utf-8")
    streams = ", ".join(f"{name} {rate:,}" for name, rate in RATES.items())
    print(
        f"{rows:,} packets seen on three links: {streams} a second for {seconds} s of event time; 10 % of c goes on to"
    )
    print("b and 10 % of b to o, each within 2 s. Which packets passed all three links, within 60 s?")


def show_table(folder: Path) -> int:
    """What went in and out, what was kept, what a plain window join would have kept; 1 if the answer is wrong."""
    lines = (folder / "metrics.jsonl").read_text(encoding="utf-8").splitlines()
    batches: list[dict[str, Any]] = [json.loads(line) for line in lines]
    rows_in = {name: sum(batch["rows_in"][name] for batch in batches) for name in RATES}
    kept = [sum(batch["state_rows"].values()) for batch in batches]
    promised = [batch["promise_rows"] for batch in batches]
    steady = [(sum(batch["rows_in"].values()), batch["seconds"]) for batch in batches[1:]]
    rate = sum(rows for rows, _ in steady) / sum(seconds for _, seconds in steady)
    right = right_answer(folder / "data")
    given = read_answer(folder / "matched")
    is_right = given is not None and same_bag(given, right)
    plain = max(window_rows(folder / "data", FILES_A_BATCH))
    most = max(rows + promises for rows, promises in zip(kept, promised, strict=True))
    size = max(batch["state_bytes"] for batch in batches)
    compared = "the same as" if is_right else f"NOT the same as the {right.num_rows:,} rows of"
    by_stream = ", ".join(f"{name} {rows:,}" for name, rows in rows_in.items())
    shown = (
        ("rows in", f"{sum(rows_in.values()):,}", by_stream),
        ("rows out", f"{0 if given is None else given.num_rows:,}", f"{compared} a direct join of the files"),
        ("rows a second", f"{rate:,.0f}", "the first batch, in which Spark starts its workers, left out"),
        ("state kept, at most", f"{most:,}", f"{max(kept):,} rows and {max(promised):,} promises, {size / 1e6:.1f} MB"),
        ("a plain window join", f"{plain:,}", "rows in the 60 s windows, 3 s late, counted in the files"),
        ("so Penstock keeps", f"1/{plain / max(1, most):,.0f}", "of it"),
    )
    for what, figure, note in shown:
        print(f"  {what:<20} {figure:>10}   {note}")
    return 0 if is_right else 1


if __name__ == "__main__":
    command, place = sys.argv[1], Path(sys.argv[2])
    if command == "write":
        write(place, int(sys.argv[3]))
    else:
        sys.exit(show_table(place))
