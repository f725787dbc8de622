"""Which parts are named in which batch: what a batch that is done again found stays."""

from __future__ import annotations

import pytest

from penstock.errors import UsageError
from penstock.spark.named_parts import NamedParts


def test_what_is_named_holds_from_the_next_batch_on() -> None:
    named = NamedParts().then(0, {"s": ("0", "1")}).then(7, {"s": ("0", "1", "2")})
    assert [named.at(batch).get("s", ()) for batch in (0, 6, 7, 99)] == [("0", "1")] * 2 + [("0", "1", "2")] * 2
    assert NamedParts.from_json(named.to_json()) == named


def test_what_is_named_as_before_or_never_held_is_not_kept() -> None:
    first = NamedParts().then(0, {"s": ("0",)})
    assert first.then(5, {"s": ("0",)}) == first
    assert first.then(5, {"s": ("0", "1")}).then(5, {"s": ("0", "1", "2")}).since == (
        (0, {"s": ("0",)}),
        (5, {"s": ("0", "1", "2")}),
    )
    assert NamedParts().then(0, {}).since == ()
    assert NamedParts().at(3) == {}


def test_partitions_that_are_called_otherwise_since_topics_were_added_are_refused() -> None:
    """The clock would wait for `0` and `1` while `orders-0` and `orders-1` speak."""
    one, several = {"s": ("0", "1")}, {"s": ("orders-0", "orders-1", "returns-0", "returns-1")}
    for before, now, words in ((one, several, "one topic so far, and reads several"), (several, one, "several so far")):
        with pytest.raises(UsageError, match=words) as told:
            NamedParts().then(0, before).require_same_names(now)
        assert "orders-0, orders-1, returns-0, …" in str(told.value)
    NamedParts().then(0, one).require_same_names({"s": ("0", "1", "2")})
    NamedParts().then(0, several).require_same_names({"s": (*several["s"], "new-0")})
    NamedParts().require_same_names(several)
