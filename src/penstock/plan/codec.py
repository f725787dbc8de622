"""Frozen dataclasses to plain JSON values and back, driven by their own type hints.

Covers what plans are made of: nested dataclasses, homogeneous tuples, string enums, `X | None`, reasons, and scalars.
Reading refuses unknown keys, and missing ones but those of fields that have a default: these came later. So a plan of
another version is never half understood, and one of the version before is read.
"""

from __future__ import annotations

import types
from dataclasses import MISSING, fields, is_dataclass
from enum import Enum
from functools import cache
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

from penstock.analysis.reasons import About, Reason, ReasonKind

T = TypeVar("T")


def encode(value: Any) -> Any:
    """A value as JSON can hold it; the order of keys is the order of fields."""
    if isinstance(value, Reason):
        about = [encode(item) for item in value.about]
        return {"kind": f"{type(value.kind).__name__}.{value.kind.name}", "about": about}
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: encode(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, tuple):
        return [encode(item) for item in value]
    return value.value if isinstance(value, Enum) else value


def decode(kind: type[T], data: Any) -> T:
    """The value of that type which `encode` wrote; raises ValueError on anything else."""
    return _decode(kind, data, kind.__name__)  # type: ignore[no-any-return] # driven by hints that mypy cannot follow


def _reason(data: Any, where: str) -> Reason:
    kind = next(
        k for kinds in ReasonKind.__subclasses__() for k in kinds if f"{kinds.__name__}.{k.name}" == data["kind"]
    )
    return Reason(kind, tuple(_about(item, where) for item in data["about"]))


def _about(data: Any, where: str) -> About:
    if isinstance(data, list):
        return tuple(_about(item, where) for item in data)
    return _reason(data, where) if isinstance(data, dict) else data


@cache
def _hints(kind: type) -> dict[str, Any]:
    return get_type_hints(kind)


@cache
def _optional(kind: Any) -> frozenset[str]:
    """What a plan of an earlier version may lack: fields that came later have a value for it."""
    return frozenset(f.name for f in fields(kind) if f.default is not MISSING or f.default_factory is not MISSING)


def _decode(kind: Any, data: Any, where: str) -> Any:
    origin = get_origin(kind)
    if origin in (Union, types.UnionType):
        if data is None:
            return None
        options = [option for option in get_args(kind) if option is not type(None)]
        if len(options) > 1:
            # A reason, or what the user wrote.
            return _decode(str if isinstance(data, str) else Reason, data, where)
        return _decode(options[0], data, where)
    if kind is Reason:
        return _reason(data, where)
    if origin is tuple:
        if not isinstance(data, list):
            raise ValueError(f"{where} should be a list")
        return tuple(_decode(get_args(kind)[0], item, f"{where}[{n}]") for n, item in enumerate(data))
    if is_dataclass(kind) and isinstance(kind, type):
        hints = _hints(kind)
        if not isinstance(data, dict) or not set(data) <= set(hints) or not set(hints) - set(data) <= _optional(kind):
            raise ValueError(f"{where} should have exactly the keys {', '.join(hints)}")
        return kind(
            **{name: _decode(hint, data[name], f"{where}.{name}") for name, hint in hints.items() if name in data}
        )
    if isinstance(kind, type) and issubclass(kind, Enum):
        return kind(data)
    if type(data) is not kind:
        raise ValueError(f"{where} should be {kind.__name__}, not {type(data).__name__}")
    return data
