"""What Spark is handed as a stateful stage says which state it has without the core."""

from __future__ import annotations

import pickle
import subprocess
import sys

from penstock.spark.operator import SecondProcessor
from penstock.spark.stateful_stage import StatefulStage

_ASKED = """
import pickle, sys

class Handle:
    def getMapState(self, *state):
        print(*state, sep="; ")

stage = pickle.loads(sys.stdin.buffer.read())
stage.init(Handle())
stage.close()
print(*(name for name in sys.modules if name.startswith("penstock.")))
"""


def test_a_process_that_is_asked_for_the_state_of_a_stage_imports_nothing_of_the_core() -> None:
    """Spark starts one for each stage of a query, one after the other, before the first batch."""
    stage = pickle.dumps(StatefulStage(SecondProcessor("{}", "query/1", "run", (0,))))
    ran = subprocess.run([sys.executable, "-c", _ASKED], input=stage, capture_output=True, check=True)
    said, imported = ran.stdout.decode().splitlines()
    assert said == "entries; key STRING; value BINARY"
    assert imported.split() == ["penstock.spark", "penstock.spark.stateful_stage"]
