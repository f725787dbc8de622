"""Does a figure grow over a long stream? What it was early beside what it is late, the first batch left out.

Batch time and state: the first tenth of the batches beside the last. Memory: by program, the middle third of the time
beside the last third, since a JVM's heap first grows to its limit. "Does not grow" means: by no more than chance.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from benchmarks.packets.memory import Sample, Watched

STEADY_SLACK = 1.25
"""A batch time or a state that is at most so many times what it was counts as not grown: batches differ by chance."""
MEMORY_SLACK = 1.10
PROGRAMS = ("java", "python")


@dataclass(frozen=True)
class Growth:
    """One figure early and late, and how many times the early one the late one may be."""

    early: float
    late: float
    slack: float = STEADY_SLACK

    @property
    def times(self) -> float:
        """The late figure as a multiple of the early one."""
        return self.late / self.early if self.early else float(self.late > 0) + 1

    @property
    def is_flat(self) -> bool:
        """Whether it has not grown."""
        return self.late <= self.slack * self.early


def over_batches(
    batches: Sequence[Any], figure: Callable[[Any], float], of: Callable[[list[float]], float] = median
) -> Growth:
    """A figure of the batches; of those of a tenth the median, or another."""
    tenth = max(2, len(batches) // 10)
    return Growth(of([figure(one) for one in batches[:tenth]]), of([figure(one) for one in batches[-tenth:]]))


def of_memory(watched: Watched, seconds: float) -> dict[str, Growth]:
    """The MiB of each program, in the last so many seconds: while the batches ran that count."""
    samples = _last(watched.samples, seconds)
    third = len(samples) // 3
    found = {}
    for program in PROGRAMS:
        middle, late = (
            median(sample.bytes_by_program.get(program, 0) / 2**20 for sample in part)
            for part in (samples[third:-third], samples[-third:])
        )
        found[program] = Growth(middle, late, MEMORY_SLACK)
    return found


def _last(samples: Sequence[Sample], seconds: float) -> list[Sample]:
    """The samples of the last seconds but one: a process ends a moment after its last batch."""
    end = samples[-1].at - 1
    return [sample for sample in samples if end - seconds <= sample.at <= end]
