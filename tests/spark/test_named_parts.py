"""Which parts are named in which batch: what a batch that is done again found stays."""

from __future__ import annotations

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
