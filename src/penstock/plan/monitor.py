"""How closely the k of constraints is watched while a query runs: c, p and W of KMON sections 4.3, 5.3 and 6.3."""

from __future__ import annotations

from dataclasses import dataclass

from penstock.model.hints import Hints

DEFAULT_FACTOR, DEFAULT_PROBABILITY, DEFAULT_WINDOW = 1.2, 0.01, 1000
"""c, p and W without MONITOR: what KMON used for CLUSTERED and ORDERED."""


@dataclass(frozen=True)
class MonitorPlan:
    """`MONITOR(c, p, W)`, or its defaults."""

    factor: float
    """c: a rise of k up to c times the k in force is surely seen."""
    probability: float
    """p: of the rows beyond that, this share is remembered to see larger rises."""
    window: int
    """W: a lower k is adopted once it held for so many arrivals."""
    declared: bool
    """Whether a declared k is monitored like a learned one: only where the query says MONITOR."""


def monitor_plan(hints: Hints) -> MonitorPlan:
    """The monitoring that a query asks for."""
    asked = hints.monitor
    if asked is None:
        return MonitorPlan(DEFAULT_FACTOR, DEFAULT_PROBABILITY, DEFAULT_WINDOW, False)
    return MonitorPlan(float(asked.factor), float(asked.probability), asked.window, True)
