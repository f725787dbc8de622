"""Records are what frozen dataclasses are, to whoever uses them."""

from __future__ import annotations

import copy
import pickle
from dataclasses import FrozenInstanceError, asdict, dataclass, field, fields, is_dataclass, replace
from typing import Any

import pytest

from penstock.records import record


@record
class Point:
    """With a default, a factory, and a field that does not count."""

    x: int
    y: int = 2
    names: tuple[str, ...] = field(default_factory=tuple)
    note: str = field(default="", compare=False, repr=False)

    def __post_init__(self) -> None:
        if self.x < 0:
            raise ValueError(self.x)


@record
class Deeper(Point):
    """A record of a record."""

    z: float = 0.5


@record
class Single:
    """One field, whose value is not its own equal."""

    value: float


@record
class Empty:
    """No field."""


@dataclass(frozen=True)
class Plain:
    """The same as Point, by dataclasses."""

    x: int
    y: int = 2
    names: tuple[str, ...] = field(default_factory=tuple)
    note: str = field(default="", compare=False, repr=False)


def test_equality_hash_and_text_are_those_of_dataclasses() -> None:
    one = Point(1, names=("a",), note="n")
    plain: Any = Plain(1, names=("a",), note="n")
    assert one == Point(1, 2, ("a",)) != Point(1, 3, ("a",))
    assert hash(one) == hash(Point(1, 2, ("a",), "other")) == hash(plain)
    assert repr(one) == repr(plain).replace("Plain", "Point")
    assert one != Deeper(1, 2, ("a",))
    assert one != plain
    assert Deeper(1) == Deeper(1, 2, (), "", 0.5)
    assert (Empty() == Empty(), hash(Empty()), repr(Empty())) == (True, hash(()), "Empty()")
    nan = float("nan")
    assert Single(nan) == Single(nan) != Single(1.0)


def test_they_are_made_copied_and_taken_apart_as_dataclasses() -> None:
    one = Deeper(3, z=1.0)
    assert is_dataclass(one)
    assert [each.name for each in fields(one)] == ["x", "y", "names", "note", "z"]
    assert asdict(replace(one, y=9)) == {"x": 3, "y": 9, "names": (), "note": "", "z": 1.0}
    assert pickle.loads(pickle.dumps(one)) == copy.deepcopy(one) == one
    match one:
        case Deeper(x, y):
            assert (x, y) == (3, 2)
        case _:
            pytest.fail("it does not match")
    with pytest.raises(ValueError, match="-1"):
        Deeper(-1)
    wrong: Any = Point
    with pytest.raises(TypeError, match=r"Point\.__init__\(\) missing 1 required positional argument: 'x'"):
        wrong()


def test_nothing_of_one_is_changed() -> None:
    one: Any = Point(1)
    with pytest.raises(FrozenInstanceError, match="cannot assign to field 'x'"):
        one.x = 2
    with pytest.raises(FrozenInstanceError, match="cannot delete field 'x'"):
        del one.x
