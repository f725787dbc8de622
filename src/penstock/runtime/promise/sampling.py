"""What is remembered beyond what is surely seen: a sample with probability p (KMON 4.3 and 5.3).

Sampling is by a hash of a row's place on its stream, so a replayed batch samples the same rows.
"""

from __future__ import annotations

import numpy as np

from penstock.plan.monitor import MonitorPlan
from penstock.runtime.columns.codes import Bools, Ints
from penstock.runtime.columns.hashing import mix

MOST_SAMPLED = 1_000
"""Rows of one source, or ended clusters of one column, that are remembered as a sample; the eldest go first."""


def is_sampled(monitor: MonitorPlan, arrival: Ints) -> Bools:
    """Which of the rows that arrived at these places belong to the sample."""
    chosen: Bools = mix(arrival.view(np.uint64)) < np.uint64(min(monitor.probability, 1.0) * (2.0**64 - 2**12))
    return chosen
