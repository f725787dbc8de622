"""Why Spark did not start, in a sentence: what it says of itself lies in its log."""

from __future__ import annotations

import re
from pathlib import Path

from penstock.errors import MachineError

_UNRESOLVED = "unresolved dependency: "
_RAISED = "Exception in thread "
_THREAD = re.compile(_RAISED + r'"[^"]*" ')


def unstarted(log: Path | None) -> MachineError:
    """The error to raise where the JVM of a session ended before it spoke; `log` is what it wrote, if that is known."""
    said = [] if log is None or not log.exists() else log.read_text(encoding="utf-8", errors="replace").splitlines()
    lacking = [line.partition(_UNRESOLVED)[2].rstrip("] ") for line in said if _UNRESOLVED in line]
    if lacking:
        return MachineError(
            "Spark did not start: a package that spark.jars.packages names could not be fetched",
            detail=lacking[-1].replace("#", ":").replace(";", ":"),
            hint="see that the Maven registry can be reached and has this version; where there is none for the Spark "
            "that is installed, that of the version before may do, and --conf spark.jars=FILE.jar,… needs no registry",
        )
    raised = [_THREAD.sub("", line, count=1) for line in said if line.startswith(_RAISED)]
    last = (raised or said)[-1:]
    return MachineError(
        "Spark did not start", detail=last[0] if last else None, hint="PENSTOCK_DEBUG=1 prints all that it says"
    )
