"""`penstock bench peers`: the rows that peers are given, how their answers are read, and what is shown."""

from __future__ import annotations

import json
from datetime import datetime
from itertools import accumulate
from pathlib import Path

import pytest
from benchmarks.peers.main import FILES, PEERS, Found, _in_order, _in_two_files, _read, as_text, main
from benchmarks.shapes.data import DISORDER, Size, write
from benchmarks.shapes.shapes import PAIR

SIZE = Size(3_000, 3)


def test_peers_get_the_same_rows_each_file_in_order(tmp_path: Path) -> None:
    write(tmp_path / "batches", PAIR, SIZE, "json")
    _in_two_files(tmp_path / "batches", tmp_path / "data")
    for stream in PAIR:
        folder = tmp_path / "batches" / stream
        given = [line for file in sorted(folder.iterdir()) for line in file.read_text().splitlines(keepends=True)]
        files = [(tmp_path / "data" / stream / f"{n}.json").read_text().splitlines(keepends=True) for n in range(FILES)]
        assert sorted(given) == sorted(line for lines in files for line in lines)
        for lines in files:
            seconds = [datetime.fromisoformat(json.loads(line)["ts"]).timestamp() for line in lines]
            late = [latest - own for latest, own in zip(accumulate(seconds, max), seconds, strict=True)]
            assert max(late) <= DISORDER / 1e6 + 1, "times are written in whole seconds"


def test_answers_are_read_with_a_header_and_without(tmp_path: Path) -> None:
    (tmp_path / "part-0").write_text("b,card,2\na,bank,1\n")
    (tmp_path / "answer.csv").write_text('number,method,fee,time,diff\nc,"cash",3,0,1\n')
    assert _in_order(_read(tmp_path)).to_pylist() == [
        {"id": "a", "method": "bank", "fee": 1},
        {"id": "b", "method": "card", "fee": 2},
        {"id": "c", "method": "cash", "fee": 3},
    ]


def test_an_answer_that_differs_is_shown() -> None:
    shown = as_text(SIZE, [Found("ours", 2.0, 2**20, 7, True), Found("theirs", 5.0, 2**21, 6, False)])
    assert "7  " in shown[-2]
    assert "6 OTHERS" in shown[-1]
    assert shown[-1].endswith("2.50")


def test_every_peer_has_its_job() -> None:
    folder = Path(__file__).parents[2] / "benchmarks" / "peers"
    assert all((folder / peer.job).exists() and "==" in peer.package for peer in PEERS)


@pytest.mark.thorough
def test_a_peer_gives_the_same_answer(tmp_path: Path) -> None:
    figures = tmp_path / "figures.json"
    assert main(["--quick", "--only", "pathway", "--json", str(figures)]) == 0
    assert len(json.loads(figures.read_text(encoding="utf-8"))) == 3
