"""What the data of a PySpark job keeps, with the calls of `penstock.promise` that say so."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape

from penstock.explain.ink import Ink, harmless
from penstock.explain.pyspark_code import promise_code, variable
from penstock.profile.declaring import Declaration
from penstock.profile.findings import Profile
from penstock.profile.text import profile_report


@dataclass(frozen=True)
class JobProfile:
    """A profile of a sample: prints as `penstock profile` does, then what to write in the job."""

    found: Profile
    rows: int
    """The rows of the sample, of all streams together."""

    @property
    def code(self) -> str:
        """The promises that the sample keeps and that save state, or bound the job, as calls to paste."""
        calls: dict[str, list[str]] = {}
        for stream, scheme in self._chosen():
            calls.setdefault(stream, []).append(promise_code(scheme))
        return "\n".join(
            f"penstock.promise({variable(stream)}, {', '.join(dict.fromkeys(made))})" for stream, made in calls.items()
        )

    def _chosen(self) -> list[Declaration]:
        helping = [one for one in self.found.proposals if one.saves_further]
        chosen = [declaration for one in helping for declaration in one.declarations]
        bounding = self.found.bounding
        return chosen if bounding is None or bounding.more is None else [*chosen, *bounding.more]

    def __str__(self) -> str:
        return harmless("\n".join([*profile_report(self.found, Ink()), "", *self._paste()]), colour=False)

    def _repr_html_(self) -> str:
        return f"<pre>{escape(str(self))}</pre>"

    def _paste(self) -> list[str]:
        if not self.code:
            return ["no promise that this sample keeps would save state in the job"]
        head = (
            "write in the job, before the streams meet; every row of the sample keeps it, which is no proof for others"
        )
        return [head, *(f"  {line}" for line in self.code.splitlines())]
