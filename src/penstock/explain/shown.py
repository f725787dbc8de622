"""Verdicts and plans that show themselves: as text where they are printed, as a page in a notebook.

The text is that of the command line, without colours; the page that of `penstock explain --html`. They are the same
values as elsewhere: nothing is decided here.
"""

from __future__ import annotations

from dataclasses import field, fields
from html import escape

from penstock.analysis.finding import Verdict
from penstock.explain.ink import Ink, harmless
from penstock.explain.page import page
from penstock.explain.plan_text import explain_report
from penstock.explain.report import check_report
from penstock.model.query import Query
from penstock.model.script import Script
from penstock.plan.plan import Plan
from penstock.plan.planner import make_plan
from penstock.records import record


@record
class ShownVerdict(Verdict):
    """A verdict that prints as `penstock check` does."""

    script: Script = field(default_factory=Script, compare=False, repr=False)
    asked: Query | None = field(default=None, compare=False, repr=False)

    @classmethod
    def of(cls, verdict: Verdict, script: Script, query: Query) -> ShownVerdict:
        """The verdict on a query of a script, to be shown."""
        known = {one.name: getattr(verdict, one.name) for one in fields(Verdict)}
        return cls(**known, script=script, asked=query)

    def __str__(self) -> str:
        return _plain(check_report([self], Ink()))

    def __repr__(self) -> str:
        """The same: at Python's prompt a value is shown by this."""
        return str(self)

    def _repr_html_(self) -> str:
        assert self.asked is not None
        return Explanation(self.script, self.asked, self, make_plan(self.asked, self))._repr_html_()


@record
class Explanation:
    """The plan of one query: prints as `penstock explain` does."""

    script: Script
    query: Query
    verdict: Verdict
    plan: Plan

    def __str__(self) -> str:
        return _plain(explain_report(self._alone, [self.verdict], [self.plan], Ink(), {}))

    def __repr__(self) -> str:
        """The same: at Python's prompt a value is shown by this."""
        return str(self)

    def _repr_html_(self) -> str:
        # A frame of its own: the styles of a page would be those of the whole notebook.
        shown = page(self.query.name, self._alone, [self.verdict], [self.plan])
        return f'<iframe srcdoc="{escape(shown, quote=True)}" style="width: 100%; height: 40rem; border: 0"></iframe>'

    @property
    def _alone(self) -> Script:
        return Script(self.script.streams, self.script.sinks, (self.query,), self.script.tables, self.script.views)


def _plain(lines: list[str]) -> str:
    return harmless("\n".join(lines), colour=False)
