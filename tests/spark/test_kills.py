"""Whatever dies, and whenever: in the end the sinks hold exactly the bag of the slow reference.

The runs are processes of their own, in sessions of their own, so that any of them can be killed and nobody else. Each
kill is a SIGKILL of a run that has files left to read: of all its processes at once, of the JVM, of the driver, or of
Python workers, at a random moment of its start or of its batches. Before each start there are new files, so that no
run ends for lack of work; the script has one or two of all kinds of query, so that it starts soon.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.measure import size
from tests.spark.conftest import Bench, kill_session
from tests.spark.killed_queries import KINDS, STREAMS, Ended, write_files
from tests.spark.processes import members

VICTIMS = {"all": 6, "jvm": 2, "driver": 2, "workers": 1}
"""How often which of them ends a run; a worker does where Spark does not try a task again."""
WORKERS_BEFORE = 0.6
"""The share of the other runs in which workers die too before the end, and their tasks are tried again."""
STREAM_COUNT = 2
"""Of files, in every script."""
DURING_START = 0.2
"""The share of the kills that do not wait for a batch to be under way."""


@dataclass
class Killer:
    """A script that is started again and again, and killed."""

    bench: Bench
    names: Sequence[str]
    rng: random.Random
    ahead: int
    """The files of each stream that lie before a run that starts."""
    files: int = 0
    killed: Counter[str] = field(default_factory=Counter)
    """Only those that lived, and whose run had files left."""
    orphans: set[int] = field(default_factory=set)

    @property
    def script(self) -> str:
        return STREAMS + "".join(KINDS[name][0] for name in self.names)

    def logged(self, what: str) -> list[int]:
        """How many batches of each query stand in that log of Spark's."""
        folders = [self.bench.folder / "checkpoint" / name / "spark" / what for name in self.names]
        return [sum(path.name.isdigit() for path in folder.glob("*")) for folder in folders]

    @property
    def read(self) -> int:
        """The files of each stream that every query has committed.

        Not the batches: one that follows a run which died between the log of a source and that of offsets has two.
        """
        return min(map(self._read_by, self.names))

    def _read_by(self, name: str) -> int:
        folder = self.bench.folder / "checkpoint" / name / "spark"
        done = max((int(path.name) for path in (folder / "commits").glob("*") if path.name.isdigit()), default=None)
        if done is None:
            return 0
        _, _, *offsets = (folder / "offsets" / str(done)).read_text(encoding="utf-8").splitlines()
        # A source that no batch has read yet has a dash, and so has one of ours that never has rows.
        read = [json.loads(offset)["logOffset"] + 1 for offset in offsets if offset != "-"]
        return min(read) if len(read) == STREAM_COUNT else 0

    @property
    def has_work(self) -> bool:
        """Whether some query has not committed what lies there."""
        return self.read < self.files

    def start(self, master: str) -> subprocess.Popen[str]:
        new = max(self.ahead - (self.files - self.read), 0)
        if new:
            write_files(self.bench, new, self.files)
            self.files += new
        # Small entries lie in commits, large segments in files, from a size that may be another in each run.
        segments = self.rng.choice(["1", "2000", "65536"])
        conf = {"spark.master": master, "penstock.segments": segments}
        return self.bench.start(self.script, unbounded=False, conf=conf)

    def kill(self) -> None:
        """Start a run, and kill something of it."""
        victim = self.rng.choices(list(VICTIMS), list(VICTIMS.values()))[0]
        before = sum(self.logged("offsets"))
        process = self.start("local[2]" if victim == "workers" else "local[2,20]")
        if victim != "workers" and self.rng.random() < DURING_START:
            time.sleep(self.rng.uniform(0.2, 8))
        else:
            deadline = time.monotonic() + 300
            while process.poll() is None and sum(self.logged("offsets")) == before and time.monotonic() < deadline:
                time.sleep(0.05)
            if victim != "workers" and self.rng.random() < WORKERS_BEFORE:
                for _ in range(self.rng.randint(1, 5)):
                    time.sleep(self.rng.uniform(0, 1.5))
                    self._kill_worker(process)
            time.sleep(self.rng.uniform(0, 2.5))
        match victim:
            case "all":
                self._count(victim, process)
                kill_session(process.pid)
                process.communicate()
            case "jvm":
                for pid in members(process.pid, "java")[-1:]:
                    self._count(victim, process)
                    os.kill(pid, signal.SIGKILL)
                self._ends(process)
            case "driver":
                self.orphans |= set(members(process.pid, ""))
                self._count(victim, process)
                process.kill()
                # The next starts at once, while what is left of this one ends.
                process.wait()
                for pipe in (process.stdout, process.stderr):
                    if pipe is not None:
                        pipe.close()
            case _:
                self._kill_worker(process)
                self._ends(process)

    def _kill_worker(self, process: subprocess.Popen[str]) -> None:
        workers = members(process.pid, "penstock.spark.daemon")
        if process.poll() is None and workers:
            # One may have ended by itself in between, and is no kill then.
            with suppress(ProcessLookupError):
                os.kill(self.rng.choice(workers), signal.SIGKILL)
                self._count("worker", process)

    def _count(self, victim: str, process: subprocess.Popen[str]) -> None:
        self.killed[victim] += process.poll() is None and self.has_work

    def _ends(self, process: subprocess.Popen[str]) -> None:
        """By itself, with nothing to say or with one error of ours."""
        ran = self.bench.finish(process)
        assert ran.code in (0, 1), ran.err
        assert ran.code == 0 or "error: " in ran.err, ran.err
        assert "Traceback" not in ran.err, ran.err
        assert "py4j" not in ran.err.lower(), ran.err

    def end(self) -> None:
        """Let it read all there is, and compare."""
        # What is left of a driver that was killed may have done all there was: then there is more.
        ran = self.bench.finish(self.start("local[2]"))
        assert ran.code == 0, ran.err
        assert not self.has_work
        for name in self.names:
            KINDS[name][1](Ended(self.bench, ran, self.files))
        deadline = time.monotonic() + 60
        while (left := [pid for pid in self.orphans if Path(f"/proc/{pid}").exists()]) and time.monotonic() < deadline:
            time.sleep(0.2)
        assert not left, "what a killed driver leaves behind ends by itself"


@pytest.mark.measure
def test_killed_at_random_moments_and_restarted(outside: Bench) -> None:
    """In the suite one kill of all kinds of query at once; at full size 20, of one kind or two."""
    kills = int(os.environ.get("PENSTOCK_KILLS", size(1, 20)))
    rng = random.Random(int(os.environ.get("PENSTOCK_SEED", "11")))
    if kills == 1:
        killer = Killer(outside, list(KINDS), rng, ahead=4)
    else:
        killer = Killer(outside, rng.sample(list(KINDS), rng.choice((1, 1, 2))), rng, ahead=12)
    while killer.killed.total() < kills:
        killer.kill()
    killer.end()
    told = ", ".join(f"{count} {victim}" for victim, count in sorted(killer.killed.items()))
    print(f"{killer.killed.total()} kills ({told}) of {' and '.join(killer.names)}, {killer.files} files a stream")
