"""The input of the experiments: Zipf streams, components of a static join, and the weather reports."""

from __future__ import annotations

import csv
import gzip
from pathlib import Path

import numpy as np
import numpy.typing as npt

from penstock.errors import UsageError

Keys = npt.NDArray[np.int64]

DOMAIN = 50
WEATHER = ("metar_2019070112.csv.gz", "metar_2020010600.csv.gz")


def zipf(chance: np.random.Generator, skew: float, length: int, order: Keys | None = None) -> Keys:
    """Independent keys, key i with a frequency of 1 / (i + 1) ** skew; `order` says which key has which rank."""
    drawn = chance.choice(DOMAIN, length, p=weights(skew, DOMAIN)).astype(np.int64)
    return drawn if order is None else order[drawn]


def components(chance: np.random.Generator, skew: float, tuples: int, number: int) -> Keys:
    """The (m, n) of each component: both relations Zipf, independent of each other, as in section 5.1."""
    shares = weights(skew, number)
    sides = [chance.multinomial(tuples, chance.permutation(shares)) for _ in "ab"]
    return np.stack(sides, axis=1)


def weather(folder: Path) -> tuple[Keys, Keys] | None:
    """The grid cells of two hours of reports, in bulletin order, the longer cut; None where the data is absent."""
    if not all((folder / name).exists() for name in WEATHER):
        return None
    cells = [_cells(folder / name) for name in WEATHER]
    steps = min(len(one) for one in cells)
    _, codes = np.unique(cells[0][:steps] + cells[1][:steps], return_inverse=True)
    return codes[:steps].astype(np.int64), codes[steps:].astype(np.int64)


def weights(skew: float, number: int) -> npt.NDArray[np.float64]:
    """The shares of so many keys, the i-th in proportion to 1 / i ** skew."""
    heights = np.arange(1, number + 1, dtype=np.float64) ** -skew
    shares: npt.NDArray[np.float64] = heights / heights.sum()
    return shares


def _cells(file: Path) -> list[str]:
    with gzip.open(file, "rt", encoding="utf-8", newline="") as lines:
        rows = csv.DictReader(lines)
        if "cell10" not in (rows.fieldnames or []):
            raise UsageError(f"{file} has no column cell10", hint="give --weather the folder of ../shared/data/weather")
        return [row["cell10"] for row in rows]
