"""SHED's offline half: the best that any policy could do with a given memory, and the policies to compare with it.

All is known here: both streams whole, from the first step to the last. Nothing of this runs in the engine.
"""

from penstock.offline.general import optimal_general
from penstock.offline.optimum import optimal
from penstock.offline.policies import simulate
from penstock.offline.static import truncate, truncate_many

__all__ = ["optimal", "optimal_general", "simulate", "truncate", "truncate_many"]
