"""What goes into Spark's store comes out as it was; of large segments fewer bytes lie there."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa

from penstock.runtime.state.store import to_ipc
from penstock.spark.stored_entries import StoredEntries


class MapState:
    """Spark's map state, as a dictionary."""

    def __init__(self) -> None:
        self.held: dict[tuple[str], tuple[bytes]] = {}

    def getValue(self, key: tuple[str]) -> tuple[bytes] | None:  # noqa: N802
        return self.held.get(key)

    def updateValue(self, key: tuple[str], value: tuple[bytes]) -> None:  # noqa: N802
        self.held[key] = value

    def removeKey(self, key: tuple[str]) -> None:  # noqa: N802
        del self.held[key]

    def iterator(self) -> Iterator[tuple[tuple[str], tuple[bytes]]]:
        return iter(self.held.items())

    def clear(self) -> None:
        self.held.clear()


def test_what_is_put_in_comes_out() -> None:
    state = MapState()
    entries = StoredEntries(state)
    large = to_ipc(pa.table({"s": pa.array([f"row {n}" for n in range(5_000)])}))
    put = {"segment/synopses/a/1": large, "segment/synopses/a/2": large[:100], "mask/a": large, "numbers": b"{}"}
    for name, value in put.items():
        entries.updateValue((name,), (value,))
    assert {name: bytes(value) for (name,), (value,) in entries.iterator()} == put
    for name, value in put.items():
        found = entries.getValue((name,))
        assert found is not None
        assert bytes(found[0]) == value
    assert entries.getValue(("none",)) is None
    assert len(state.held["segment/synopses/a/1",][0]) < len(large) / 2
    assert state.held["segment/synopses/a/2",][0] == large[:100]
    entries.removeKey(("numbers",))
    assert ("numbers",) not in state.held
    entries.clear()
    assert not state.held
