"""`record`: a frozen dataclass that is quick to define.

`dataclass(frozen=True)` writes and compiles six methods for each class; the two hundred classes that `penstock check`
loads cost a fifth of its time, and most of them make no instance in a run. A record is a dataclass all the same (its
fields, `replace`, `asdict`, `match`), but `__init__` is compiled when the first instance is made, and equality, hash
and text are functions that all records share. Equal records are of one class and agree on the fields that are compared,
as with dataclasses.

Not here: whatever dataclasses have beside plain fields, defaults and `__post_init__`. A class that derives from a
record is one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import MISSING, FrozenInstanceError, dataclass, field, fields
from operator import attrgetter
from typing import Any, NoReturn, TypeVar, dataclass_transform

T = TypeVar("T")
_Values = Callable[[Any], Any]


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def record(cls: type[T]) -> type[T]:
    """The class as a frozen dataclass."""
    own = vars(cls)
    made: Any = dataclass(init=False, repr=False, eq=False)(cls)
    values = _values(tuple(field.name for field in fields(made) if field.compare))
    made.__init__ = _made_later(made)
    made.__setattr__, made.__delattr__ = _refuse_to_set, _refuse_to_delete
    if "__repr__" not in own:
        made.__repr__ = _text
    if "__eq__" not in own:
        made.__eq__ = lambda self, other: (
            values(self) == values(other) if other.__class__ is self.__class__ else NotImplemented
        )
        if "__hash__" not in own:
            made.__hash__ = lambda self: hash(values(self))
    found: type[T] = made
    return found


def _values(names: tuple[str, ...]) -> _Values:
    """A function that gives the values of these fields, as a tuple."""
    if len(names) > 1:
        return attrgetter(*names)
    # One name gives its value and no tuple, and none gives an error.
    return lambda one: tuple(getattr(one, name) for name in names)


def _made_later(cls: Any) -> Callable[..., None]:
    """An `__init__` that compiles the real one when it is first called."""

    def first(self: Any, *args: Any, **named: Any) -> None:
        cls.__init__ = _compiled(cls)
        cls.__init__(self, *args, **named)

    return first


def _compiled(cls: Any) -> Any:
    known: dict[str, Any] = {"_set": object.__setattr__}
    asked, done = ["self"], []
    for one in fields(cls):
        value = one.name
        if one.default is not MISSING:
            known[f"_{one.name}"] = one.default
            asked.append(f"{one.name}=_{one.name}")
        elif one.default_factory is not MISSING:
            known[f"_{one.name}"] = one.default_factory
            asked.append(f"{one.name}=_set")
            value = f"_{one.name}() if {one.name} is _set else {one.name}"
        else:
            asked.append(one.name)
        done.append(f"    _set(self, {one.name!r}, {value})")
    if hasattr(cls, "__post_init__"):
        done.append("    self.__post_init__()")
    body = "\n".join(done) or "    pass"
    exec(f"def __init__({', '.join(asked)}):\n{body}", known)
    made = known["__init__"]
    made.__qualname__ = f"{cls.__qualname__}.__init__"
    return made


def _text(self: Any) -> str:
    shown = (f"{one.name}={getattr(self, one.name)!r}" for one in fields(self) if one.repr)
    return f"{type(self).__qualname__}({', '.join(shown)})"


def _refuse_to_set(_self: Any, name: str, _value: object) -> NoReturn:
    raise FrozenInstanceError(f"cannot assign to field {name!r}")


def _refuse_to_delete(_self: Any, name: str) -> NoReturn:
    raise FrozenInstanceError(f"cannot delete field {name!r}")
