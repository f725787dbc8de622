"""The blocks of a query: each once, from below; and what the whole is."""

from __future__ import annotations

from dataclasses import replace

import pytest

from penstock.analysis.check import check_query
from penstock.analysis.finding import Undecided, each_block
from penstock.errors import InternalError
from penstock.model.block_tree import blocks_below, is_block
from penstock.model.query import Query
from tests.analysis.blocks.promised import NEAR, A, B
from tests.blocks import with_views

V = f"SELECT a.k, a.t FROM a, b WHERE {NEAR}"


def test_a_block_that_is_read_twice_is_one() -> None:
    views = {"v": V, "w": "SELECT x.k, x.t FROM v x, a WHERE x.k = a.k AND x.t = a.t"}
    (query,) = with_views(A + B, views, "SELECT w.k FROM v, w WHERE v.k = w.k AND v.t = w.t").queries
    assert [source.stream.name for source in blocks_below(query)] == ["v", "w"]
    verdict = check_query(query)
    assert verdict.verdict == "bounded"
    assert [block.name for block in verdict.blocks] == ["v", "w"]
    last, of_all = each_block(query, verdict)[-1]
    assert of_all is verdict
    assert {source.stream.low != () for source in last.all_sources} == {True}
    assert not is_block(last)


def test_two_blocks_of_one_name_are_our_own_mistake() -> None:
    (query,) = with_views(A + B, {"v": V}, "SELECT x.k FROM v x, v y WHERE x.k = y.k").queries
    one, other = query.sources
    assert isinstance(other.below, Query)
    named = replace(query, sources=(one, replace(other, below=replace(other.below, name="another"))))
    with pytest.raises(InternalError, match="two blocks"):
        blocks_below(named)


def test_what_grows_above_a_block_is_undecided() -> None:
    (query,) = with_views(A + B, {"v": V}, "SELECT v.k FROM v, b WHERE v.k = b.k").queries
    verdict = check_query(query)
    assert verdict.verdict == "undecided"
    assert verdict.witness is None
    assert {type(entry.finding) for entry in verdict.streams} == {Undecided}


def test_what_grows_below_makes_the_whole_unbounded() -> None:
    (query,) = with_views(A + B, {"v": "SELECT a.k, a.t FROM a, b WHERE a.k = b.k"}, "SELECT v.k FROM v").queries
    assert check_query(query).verdict == "unbounded"
