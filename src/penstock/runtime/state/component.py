"""State that names itself. A component says what it holds; one place saves it, loads it and ends its steps.

A component names its attributes, by what they are:

- **tables**: rows that come and go, any number of them. They are written in pieces, each once (`Synopsis`, `Queue` and
  whatever else has `write` and `read`), so that what a save costs follows the batch and not the state.
- **arrays**: of a size that does not grow with the state, whole Arrow tables or numpy arrays, None if there is none;
  written when they differ from what was written last.
- **numbers**: a few words of it, and lists and mappings of these. All components' together are one entry.
- **parts**: components that it is made of.

An attribute that is a list or a mapping stands for its members, by place or by key. Which there are follows from the
plan, never from the rows: a new cell has the same tables, arrays and parts as the saved one. So a store is **complete**
iff it has what the components name and nothing else, and `load` says what is amiss instead of going on with a part.

What is not named here does not survive the step in which it was made, or follows from what is named (`resume`).
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, runtime_checkable

import numpy as np

from penstock.errors import DataError
from penstock.runtime.state.store import (
    Changes,
    Entries,
    EntryReader,
    EntryWriter,
    from_ipc,
    from_json,
    from_tensor,
    read_synopsis,
    rest_on,
    to_ipc,
    to_json,
    to_tensor,
    write_synopsis,
)
from penstock.runtime.state.synopsis import Synopsis

NUMBERS = "numbers"
"""The entry that every store has which is not empty."""
_TENSOR, _TABLE = "tensor", "table"
"""What an array is."""


@runtime_checkable
class Table(Protocol):
    """Rows that are written in pieces, under names that begin with the one given."""

    def write(self, name: str, to: EntryWriter) -> Any:
        """Write what changed since the last time; gives what else must be known, as JSON holds it."""

    def read(self, name: str, told: Any, source: EntryReader) -> None:
        """Take back what was written."""


class Component:
    """Something with state: the names of the attributes that hold it, and nothing else to do."""

    tables: ClassVar[tuple[str, ...]] = ()
    arrays: ClassVar[tuple[str, ...]] = ()
    numbers: ClassVar[tuple[str, ...]] = ()
    parts: ClassVar[tuple[str, ...]] = ()
    may_lack: ClassVar[tuple[str, ...]] = ()
    """The tables that an older store of the same version may lack: they begin empty."""

    def resume(self) -> None:
        """All state was loaded: work out what follows from it."""

    def follow(self, members: Sequence[Any], *, is_first: bool) -> None:
        """Stand for several of its kind, of the cells that were, in a cell of those that are (`redeal.py`).

        Tables are dealt by others; what is no row and differs is taken as cautiously as any has it. What is added up
        over cells stands in the first alone.
        """


def synopses_of(component: Component) -> tuple[Synopsis, ...]:
    """All synopses that a component and its parts hold."""
    tables = (table for _, one in _walk("", component) for _, table in _tables(one))
    return tuple(table for table in tables if isinstance(table, Synopsis))


def components_of(root: Component) -> dict[str, Component]:
    """A component and all its parts, by their paths."""
    return dict(_walk("", root))


def tables_of(root: Component) -> dict[str, Any]:
    """All tables that a component and its parts hold, by their paths."""
    return {_in(path, name): table for path, one in _walk("", root) for name, table in _tables(one)}


@dataclass(frozen=True)
class _Array:
    """Where an array stands: an attribute of a component, or a member of a mapping."""

    name: str
    holder: Any
    key: Any

    def get(self) -> Any:
        return self.holder[self.key] if isinstance(self.holder, dict) else getattr(self.holder, self.key)

    def set(self, value: Any) -> None:
        if isinstance(self.holder, dict):
            self.holder[self.key] = value
        else:
            setattr(self.holder, self.key, value)


class State:
    """All that a component and its parts hold, and what of it is in the store."""

    def __init__(self, root: Component) -> None:
        self._components = components_of(root)
        components = self._components.items()
        self._tables = tables_of(root)
        self._lacking = {
            _in(path, name)
            for path, one in components
            for attribute in one.may_lack
            for name, _ in _members(attribute, getattr(one, attribute))
        }
        self._arrays = [array for path, one in components for array in _arrays(path, one)]
        self._synopses = [table for table in self._tables.values() if isinstance(table, Synopsis)]
        self._serial = 0
        self._written: dict[str, bytes] = {}
        """By entry that is written whole, a digest of what was written last."""

    def finish(self) -> None:
        """End a step: what is left of it is stored, and what is mostly dead rewritten."""
        for synopsis in self._synopses:
            synopsis.finish()

    def save(self) -> Changes:
        """What changed since the last save."""
        to = EntryWriter(self._serial)
        told = {}
        for name, table in self._tables.items():
            told[name] = write_synopsis(name, table, to) if isinstance(table, Synopsis) else table.write(name, to)
        kinds = {array.name: kind for array in self._arrays if (kind := self._write_array(array, to)) is not None}
        numbers = {path: {n: getattr(one, n) for n in one.numbers} for path, one in self._components.items()}
        self._serial = to.serial
        saved = {"serial": to.serial, "numbers": numbers, "tables": told, "arrays": kinds}
        self._write_whole(NUMBERS, to_json(saved), to)
        return Changes(to.put, tuple(to.delete))

    def rest_on(self, entries: Entries) -> None:
        """Hold the rows that were just saved where these entries are, which a disk may have."""
        for synopsis in self._synopses:
            rest_on(synopsis, entries)

    def _write_array(self, array: _Array, to: EntryWriter) -> str | None:
        """Write an array if it differs from what was written; gives what it is, None if there is none."""
        value = array.get()
        if value is None:
            if self._written.pop(array.name, None) is not None:
                to.delete.append(array.name)
            return None
        is_tensor = isinstance(value, np.ndarray)
        self._write_whole(array.name, to_tensor(value) if is_tensor else to_ipc(value), to)
        return _TENSOR if is_tensor else _TABLE

    def _write_whole(self, name: str, written: bytes, to: EntryWriter) -> None:
        digest = _digest(written)
        if self._written.get(name) != digest:
            self._written[name] = digest
            to.put[name] = written

    def load(self, entries: Entries) -> None:
        """Take back what a store holds; nothing where it is empty."""
        if not entries:
            return
        source = EntryReader(entries)
        saved = from_json(self._whole(NUMBERS, source))
        _require_same("components", saved["numbers"], self._components)
        told_of = saved["tables"]
        begins_empty = {name for name in self._lacking if name not in told_of}
        _require_same("tables", told_of, self._tables.keys() - begins_empty)
        self._serial = saved["serial"]
        for name, table in self._tables.items():
            if name in begins_empty:
                continue
            told = told_of[name]
            if isinstance(table, Synopsis):
                read_synopsis(name, told, table, source)
            else:
                table.read(name, told, source)
        for array in self._arrays:
            kind = saved["arrays"].get(array.name)
            read = from_tensor if kind == _TENSOR else from_ipc
            array.set(None if kind is None else read(self._whole(array.name, source)))
        for path, one in self._components.items():
            _require_same(f"numbers of {path or 'the cell'}", saved["numbers"][path], one.numbers)
            for name, value in saved["numbers"][path].items():
                setattr(one, name, value)
        source.require_all_taken()
        for one in self._components.values():
            one.resume()

    def _whole(self, name: str, source: EntryReader) -> Any:
        found = source.take(name)
        self._written[name] = _digest(found)
        return found


def _digest(data: Any) -> bytes:
    return hashlib.blake2b(data, digest_size=16).digest()


def _walk(path: str, component: Component) -> Iterator[tuple[str, Component]]:
    yield path, component
    for attribute in component.parts:
        for name, part in _members(attribute, getattr(component, attribute)):
            if part is not None:
                yield from _walk(_in(path, name), part)


def _tables(component: Component) -> Iterator[tuple[str, Any]]:
    for attribute in component.tables:
        yield from _members(attribute, getattr(component, attribute))


def _arrays(path: str, component: Component) -> Iterator[_Array]:
    for attribute in component.arrays:
        value = getattr(component, attribute)
        for key in value if isinstance(value, dict) else ():
            yield _Array(f"array/{_in(path, attribute)}/{key}", value, key)
        if not isinstance(value, dict):
            yield _Array(f"array/{_in(path, attribute)}", component, attribute)


def _members(attribute: str, value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict):
        yield from ((f"{attribute}/{key}", member) for key, member in value.items())
    elif isinstance(value, list | tuple):
        yield from ((f"{attribute}/{place}", member) for place, member in enumerate(value))
    else:
        yield attribute, value


def _in(path: str, name: str) -> str:
    return f"{path}/{name}" if path else name


def _require_same(what: str, saved: Any, expected: Any) -> None:
    lacking, unknown = sorted(set(expected) - set(saved)), sorted(set(saved) - set(expected))
    if lacking or unknown:
        told = [f"{verb} {', '.join(names)}" for verb, names in (("lacks", lacking), ("has", unknown)) if names]
        raise DataError(
            "the state in the checkpoint is not the one that the query has",
            detail=f"of the {what} it {' and '.join(told)}",
            hint="the checkpoint is damaged, or of another version: use another one",
        )
