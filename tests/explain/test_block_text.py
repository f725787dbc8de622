"""Reports on queries of several blocks: all state in one list, promises with their reasons."""

from __future__ import annotations

from penstock.analysis.check import check_query
from penstock.explain.block_text import answer_lines, block_lines, block_objects, of_all_blocks
from penstock.explain.ink import Ink
from tests.analysis.blocks.promised import NEAR, A, B, block
from tests.blocks import with_views

V = f"SELECT DISTINCT a.k, a.t FROM a, b WHERE {NEAR}"


def test_the_state_of_all_blocks_is_one_list() -> None:
    verdict = check_query(with_views(A + B, {"v": V}, "SELECT v.k, b.n FROM v, b WHERE v.k = b.k").queries[0])
    whole = of_all_blocks(verdict)
    assert [state.alias for state in whole.streams] == ["v", "b", "v.a", "v.b", "v.(distinct)"]
    assert whole.blocks == ()
    assert of_all_blocks(whole) is whole


def test_each_promise_stands_with_its_reason() -> None:
    found = block(V)
    lines = answer_lines(found)
    assert [line.partition(":")[0] for line in lines[:2]] == ["ORDERED BY t WITHIN FRONTIER", "PRIMARY KEY (k, t)"]
    assert all(": " in line for line in lines)
    verdict = check_query(with_views(A + B, {"v": V}, "SELECT v.k FROM v").queries[0])
    assert block_lines(verdict, Ink())[0].strip().startswith("blocks")
    (shown,) = block_objects([found])
    assert (shown["block"], shown["verdict"], shown["event_time"]) == ("v", "bounded", "t")


def test_why_there_is_no_clock_is_told() -> None:
    (line,) = answer_lines(block("SELECT a.t FROM a, b WHERE a.k = b.k"))
    assert line.startswith("no clock of t: a.t moves on only when")
