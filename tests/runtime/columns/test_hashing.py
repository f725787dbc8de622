"""The hash of values: pinned for ever, as a slow reference has it word by word, and never trusted where it decides.

The reference below is plain Python over single values and shares no code with `columns/hashing.py`. The pinned table
is what checkpoints hold: a change of any of these numbers makes every checkpoint wrong, so a change of them is refused.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.runtime import Batch, Cell, Chunk, GroupStage
from penstock.runtime.columns.hashing import byte_hashes, combine, hashes, sharing_hashes, twins
from penstock.runtime.columns.row_values import row_hashes
from tests.runtime.driving import plan_of, rows_of

WORD = 2**64


def finalised(number: int) -> int:
    """Splitmix64, as its author wrote it."""
    z = (number + 0x9E3779B97F4A7C15) % WORD
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) % WORD
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) % WORD
    return z ^ (z >> 31)


def reference(value: bytes) -> int:
    """The hash of one value, word by word."""
    total = finalised(len(value))
    for number, place in enumerate(range(0, len(value), 8)):
        word = 0
        for power, byte in enumerate(value[place : place + 8]):
            word += byte << (8 * power)
        total += finalised(word ^ finalised(number))
    return finalised(total % WORD)


def one(value: Any, kind: Any) -> int:
    return int(hashes(pa.array([value], kind))[0])


UTC = dt.UTC
PINNED: list[tuple[Any, Any, int]] = [
    (None, pa.int64(), 0xE220A8397B1DCDAF),
    (-128, pa.int8(), 0x91DE0036E7E6BC39),
    (300, pa.int16(), 0x2FB54C54D1EB0392),
    (-5, pa.int32(), 0x16B1CBA95FC60262),
    (0, pa.int64(), 0xE220A8397B1DCDAF),
    (1, pa.int64(), 0x910A2DEC89025CC1),
    (-1, pa.int64(), 0xE4D971771B652C20),
    (9223372036854775807, pa.int64(), 0x2A67D7552E039EA7),
    (-9223372036854775808, pa.int64(), 0x481EC0A212A9F3DB),
    (True, pa.bool_(), 0x910A2DEC89025CC1),
    (0.0, pa.float64(), 0xE220A8397B1DCDAF),
    (-0.0, pa.float64(), 0xE220A8397B1DCDAF),
    (1.5, pa.float64(), 0xD6DAB18E1392608A),
    (1.5, pa.float32(), 0xD6DAB18E1392608A),
    (-1.5, pa.float64(), 0x560B73E0D50E72E4),
    (float("nan"), pa.float64(), 0xC72971D82E15BB46),
    (dt.date(2024, 2, 29), pa.date32(), 0xDB8C04CA25F6E90D),
    (dt.datetime(2024, 2, 29, 12, 30, 0, 1, tzinfo=UTC), pa.timestamp("us", "UTC"), 0xAC41852325992EBB),
    (dt.datetime(1969, 12, 31, 23, 59, 59), pa.timestamp("us"), 0xA095D63C0EBACCD2),
    (Decimal("-1.25"), pa.decimal128(10, 2), 0x4C8FE4EE6398C301),
    (Decimal("1.25"), pa.decimal128(38, 2), 0xC9EA5A0BC71FCDB3),
    (-(Decimal(10) ** 30), pa.decimal128(38, 5), 0x730AB19D99CDD487),
    (None, pa.string(), 0xA706DD2F4D197E6F),
    ("", pa.string(), 0xA706DD2F4D197E6F),
    ("a", pa.string(), 0x8CD7E3A1D76DD86B),
    ("ab", pa.string(), 0xF3EB657F67B4FCD5),
    ("12345678", pa.string(), 0x9CCD8C41165E04E8),
    ("123456789", pa.string(), 0x3224D0A978224779),
    ("ä", pa.string(), 0xB01CFDA6280CC36C),
    ("a\0", pa.string(), 0xC4890670DC42A06C),
    ("00000000-0000-0000-0000-000000000000", pa.string(), 0x64CB7BDBF5D4A0DF),
    (b"", pa.binary(), 0xA706DD2F4D197E6F),
    (b"\0", pa.binary(), 0x82A669CABC948E24),
    (b"\0\0\0\0\0\0\0\0", pa.binary(), 0x7509B1A3956CFA93),
    (b"ab", pa.binary(), 0xF3EB657F67B4FCD5),
    (bytes(range(256)) * 4, pa.binary(), 0x5F37A5C89D46B88E),
    (b"\xff" * 16, pa.binary(16), 0x42F92020807C49D2),
]


@pytest.mark.parametrize(("value", "kind", "pinned"), PINNED)
def test_the_hash_of_a_value_is_what_it_was_in_the_first_version(value: Any, kind: Any, pinned: int) -> None:
    assert one(value, kind) == pinned


def test_the_hash_of_several_columns_is_what_it_was_in_the_first_version() -> None:
    numbers, texts = hashes(pa.array([7, -1])), hashes(pa.array(["seven", ""]))
    assert combine([numbers, texts]).tolist() == [0x29FA0BABB3546659, 0x583A8827199907C0]
    table = pa.table({"n": [7, None], "s": ["seven", None], "l": pa.array([[1, 2], None], pa.list_(pa.int64()))})
    assert row_hashes(table).tolist() == [0x172A1D050A2D8C14, 0x4C0764267E11E7CA]


@pytest.mark.parametrize("value", [b"", b"\0", b"a", b"12345678", b"123456789", bytes(range(256)) * 5])
def test_the_reference_says_the_same_of_single_values(value: bytes) -> None:
    assert one(value, pa.binary()) == reference(value)


LENGTHS = st.one_of(st.integers(0, 40), st.integers(120, 140), st.sampled_from([8, 16, 128, 1000, 5000]))


@given(st.lists(LENGTHS, max_size=12), st.randoms(use_true_random=False), st.integers(0, 3))
def test_whole_columns_hash_as_single_values(lengths: list[int], random: Any, skipped: int) -> None:
    values: list[bytes | None] = [random.randbytes(length) for length in lengths]
    if values and random.random() < 0.3:
        values[random.randrange(len(values))] = None
    expected = [reference(value or b"") for value in values[skipped:]]
    for kind in (pa.binary(), pa.large_binary(), pa.binary_view()):
        assert byte_hashes(pa.array(values, kind).slice(skipped)).tolist() == expected
    assert byte_hashes(pa.array(values, pa.binary()).dictionary_encode().slice(skipped)).tolist() == expected


@given(st.lists(st.text(max_size=20)))
def test_texts_hash_as_their_bytes(texts: list[str]) -> None:
    expected = [reference(text.encode()) for text in texts]
    for kind in (pa.string(), pa.large_string(), pa.string_view()):
        assert byte_hashes(pa.array(texts, kind)).tolist() == expected


def test_what_stands_behind_a_null_is_not_looked_at() -> None:
    offsets = pa.py_buffer(np.array([0, 3, 6], np.int32).tobytes())
    array = pa.Array.from_buffers(pa.string(), 2, [pa.py_buffer(b"\x02"), offsets, pa.py_buffer(b"abcdef")])
    assert array.to_pylist() == [None, "def"]
    assert hashes(array).tolist() == [reference(b""), reference(b"def")]


@given(st.integers(1, 140), st.integers(1, 40), st.integers(0, 5), st.integers(0, 5), st.randoms(use_true_random=False))
def test_values_of_one_length_hash_as_single_values(size: int, many: int, before: int, after: int, random: Any) -> None:
    """They lie one after the other, with others before and behind them, or with nothing behind them."""
    values = [random.randbytes(size) for _ in range(before + many + after)]
    array = pa.array(values, pa.binary()).slice(before, many)
    assert byte_hashes(array).tolist() == [reference(value) for value in values[before : before + many]]


def test_many_values_at_once_hash_as_few() -> None:
    values = [b"%d" % n * (1 + n % 9) for n in range(40_000)]
    found = byte_hashes(pa.array(values))
    picked = range(0, len(values), 1_999)
    assert [int(found[n]) for n in picked] == [reference(values[n]) for n in picked]


@given(st.binary(max_size=300), st.data())
def test_values_that_are_nearly_equal_differ(value: bytes, data: st.DataObject) -> None:
    near = {value, value + b"\0", value + b"\0\0", b"\0" + value, value[8:] + value[:8], value[::-1], value * 2}
    if value:
        place = data.draw(st.integers(0, 8 * len(value) - 1))
        flipped = bytearray(value)
        flipped[place // 8] ^= 1 << place % 8
        near.add(bytes(flipped))
    values = sorted(near)
    assert len(set(byte_hashes(pa.array(values, pa.binary())).tolist())) == len(values)


def test_every_bit_of_a_value_turns_about_half_of_the_bits_of_its_hash() -> None:
    value = bytes(range(1, 30))
    flips = [bytes(b ^ (1 << bit % 8 if n == bit // 8 else 0) for n, b in enumerate(value)) for bit in range(29 * 8)]
    turned = byte_hashes(pa.array(flips)) ^ np.uint64(one(value, pa.binary()))
    per_flip = np.unpackbits(turned.view(np.uint8).reshape(len(flips), 8), axis=1)
    assert per_flip.sum(axis=1).min() > 16
    assert per_flip.sum(axis=1).max() < 48
    assert abs(per_flip.mean() - 0.5) < 0.02
    assert (np.abs(per_flip.mean(axis=0) - 0.5) < 0.15).all()


def test_a_million_values_have_a_million_hashes() -> None:
    texts = pa.array([f"user-{n:07d}-{n % 13}" for n in range(1_000_000)])
    assert len(np.unique(hashes(texts))) == 1_000_000


def thue_morse(size: int) -> tuple[bytes, bytes]:
    """Two values on which every polynomial modulo 2^64 agrees, from 1,024 bytes on."""
    parity = [bin(n).count("1") % 2 for n in range(size)]
    return bytes(97 + bit for bit in parity), bytes(98 - bit for bit in parity)


def swapped() -> tuple[bytes, bytes]:
    """Two values of one hash, as anyone can make them who knows the function: two words that change their places."""
    first, second = 0x1122334455667788, 0x99AABBCCDDEEFF00
    salt = finalised(0) ^ finalised(1)
    return (
        first.to_bytes(8, "little") + second.to_bytes(8, "little"),
        (second ^ salt).to_bytes(8, "little") + (first ^ salt).to_bytes(8, "little"),
    )


def test_what_collides_in_every_polynomial_does_not_here() -> None:
    for size in (1024, 2048, 8192):
        left, right = thue_morse(size)
        assert one(left, pa.binary()) != one(right, pa.binary())


def test_values_can_be_made_that_collide_so_nothing_may_trust_a_hash() -> None:
    left, right = swapped()
    assert left != right
    assert one(left, pa.binary()) == one(right, pa.binary())


COLLIDING = [pytest.param(*swapped(), id="of one hash"), pytest.param(*thue_morse(1024), id="of one polynomial")]


def steps(script: str, *batches: dict[str, Sequence[bytes]]) -> list[Any]:
    """What a cell gives, batch by batch; streams have a key k and a number n."""
    plan = plan_of(script)
    cell = Cell(plan)
    found, numbered = [], 0
    for number, batch in enumerate(batches):
        chunks = []
        for stream in plan.streams:
            keys = batch.get(stream, ())
            columns = {"k": pa.array(keys, pa.binary()), "n": range(numbered, numbered + len(keys))}
            numbered += len(keys)
            chunks.append(Chunk.of(plan, stream, 0, pa.table(columns)))
        found.append(cell.step(Batch(number, tuple(chunks))))
    return found


@pytest.mark.parametrize(("left", "right"), COLLIDING)
def test_a_match_that_only_hashes_as_one_does_not_break_follows(left: bytes, right: bytes) -> None:
    script = (
        "CREATE STREAM s (k BINARY, n BIGINT, FOLLOWS t (k) ON (k) WITHIN 4 ROWS);"
        "CREATE STREAM t (k BINARY, n BIGINT);"
        "SELECT s.n, t.n AS tn FROM s, t WHERE s.k = t.k;"
    )
    for comes, violations in ((right, 0), (left, 1)):
        *_, last = steps(script, {"s": [left]}, {"t": [b"w", b"x", b"y", b"z"]}, {"t": [comes]})
        assert sum(last.metrics.violations.values()) == violations


@pytest.mark.parametrize(("left", "right"), COLLIDING)
def test_a_key_that_only_hashes_as_one_is_no_second_one(left: bytes, right: bytes) -> None:
    script = (
        "CREATE STREAM s (k BINARY, n BIGINT, PRIMARY KEY (k)); CREATE STREAM t (k BINARY, n BIGINT);"
        "SELECT s.n, t.n AS tn FROM s, t WHERE s.k = t.k;"
    )
    # The equal ones lie on both sides of the other one: neighbours by hash are not enough.
    (first,) = steps(script, {"s": [left, right, left]})
    assert sum(first.metrics.violations.values()) == 1
    first, second = steps(script, {"s": [left]}, {"s": [right], "t": [left, right]})
    assert not second.metrics.violations
    assert rows_of(second) == [(0, 2), (1, 3)]


@pytest.mark.parametrize(("left", "right"), COLLIDING)
def test_rows_leave_though_another_value_hashes_as_theirs(left: bytes, right: bytes) -> None:
    script = (
        "CREATE STREAM s (k BINARY, n BIGINT, PRIMARY KEY (k)); CREATE STREAM t (k BINARY, n BIGINT, PRIMARY KEY (k));"
        "SELECT s.n, t.n AS tn FROM s, t WHERE s.k = t.k;"
    )
    *_, last = steps(script, {"s": [left, right]}, {"t": [left, right]})
    assert len(last.rows) == 2
    assert sum(last.metrics.state_rows.values()) == 0


@pytest.mark.parametrize(("left", "right"), COLLIDING)
def test_distinct_gives_each_value_once_and_all_of_them(left: bytes, right: bytes) -> None:
    plan = plan_of("CREATE STREAM s (k BINARY, n BIGINT); SELECT DISTINCT s.k FROM s;")
    stage = GroupStage(plan)
    name = plan.outputs[0].name
    given = stage.step(0, pa.table({name: pa.array([left, right, left, right], pa.binary())}), {}).rows
    assert given.column(name).to_pylist() == [left, right]
    again = stage.step(1, pa.table({name: pa.array([right, left], pa.binary())}), {}).rows
    assert again.num_rows == 0


@given(st.lists(st.integers(0, 40), max_size=60))
def test_places_that_share_a_hash_are_found(numbers: list[int]) -> None:
    keys = hashes(pa.array(numbers, pa.int64()))
    expected = [place for place, number in enumerate(numbers) if numbers.count(number) > 1]
    assert twins(keys).tolist() == expected
    assert set(sharing_hashes(keys).tolist()) >= set(expected)
