"""One module for each kind of promise: how it is learned, watched, widened, saved.

To add a kind: write a subclass of `Watch` in a module of its own and name it in `WATCHES`. The cell calls its hooks
in the order of their definition; nothing else knows the kinds, except that a closer in `closing.py` may read what it
learned.
"""

from __future__ import annotations

from collections.abc import Mapping

from penstock.plan.plan import Plan
from penstock.plan.promise_plans import PromiseKind, PromisePlan
from penstock.runtime.input.stream_parts import StreamParts
from penstock.runtime.promise.bands import BandWatch
from penstock.runtime.promise.checks import CheckWatch
from penstock.runtime.promise.clustered import ClusteredWatch
from penstock.runtime.promise.follows import FollowsWatch
from penstock.runtime.promise.items import ItemWatch
from penstock.runtime.promise.keys import KeyWatch
from penstock.runtime.promise.ordered import ArrivesWatch, LearnedOrderWatch, OrderedWatch
from penstock.runtime.promise.part_orders import PartArrivesWatch, PartOrderWatch
from penstock.runtime.promise.punctuated import PunctuatedWatch
from penstock.runtime.promise.told_frontier import FrontierWatch
from penstock.runtime.promise.watch import Promised, Watch
from penstock.runtime.state.synopsis import Synopsis

WATCHES: dict[PromiseKind, type[Watch]] = {
    PromiseKind.ORDERED_ROWS: OrderedWatch,
    PromiseKind.ORDERED_TIME: OrderedWatch,
    PromiseKind.ARRIVES: ArrivesWatch,
    PromiseKind.PRIMARY_KEY: KeyWatch,
    PromiseKind.FOLLOWS_ROWS: FollowsWatch,
    PromiseKind.FOLLOWS_TIME: BandWatch,
    PromiseKind.COOCCURS: BandWatch,
    PromiseKind.PUNCTUATED: PunctuatedWatch,
    PromiseKind.CLUSTERED: ClusteredWatch,
    PromiseKind.CHECK: CheckWatch,
    PromiseKind.FRONTIER: FrontierWatch,
}


PART_WATCHES: dict[PromiseKind, type[PartOrderWatch]] = {
    PromiseKind.ORDERED_ROWS: PartOrderWatch,
    PromiseKind.ORDERED_TIME: PartOrderWatch,
    PromiseKind.ARRIVES: PartArrivesWatch,
}
"""What watches the orders of a stream that has parts."""


def watches_of(plan: Plan, parts: Mapping[str, StreamParts]) -> tuple[Watch, ...]:
    """A watch for each promise of the plan, in its order, then one for each punctuation that closes items."""
    made = [_made(plan, promise, parts.get(plan.by_alias[promise.alias].stream)) for promise in plan.promises]
    return (*made, *(ItemWatch(plan, closer) for closer in plan.item_closers))


def _made(plan: Plan, promise: PromisePlan, parts: StreamParts | None) -> Watch:
    if parts is not None and promise.kind in PART_WATCHES:
        return PART_WATCHES[promise.kind](plan, promise, parts)
    is_learned = promise.kind is PromiseKind.ORDERED_ROWS and promise.rows is None
    return (LearnedOrderWatch if is_learned else WATCHES[promise.kind])(plan, promise)


def remembered(watches: tuple[Watch, ...]) -> tuple[dict[Promised, tuple[Synopsis, ...]], dict[Promised, Synopsis]]:
    """The promise rows of punctuations and clusters, and those of keys, by alias and columns, for other watches."""
    punctuations: dict[Promised, tuple[Synopsis, ...]] = {}
    for watch in watches:
        if isinstance(watch, PunctuatedWatch):
            place = (watch.alias, watch.columns)
            punctuations[place] = (*punctuations.get(place, ()), watch.held)
    return punctuations, {(w.alias, w.columns): w.ghosts for w in watches if isinstance(w, KeyWatch)}
