"""Jars from the Maven registry, fetched once by `mvn` and a pom file, and kept under `~/.cache/penstock`."""

from __future__ import annotations

import fcntl
import hashlib
import shutil
import subprocess
from pathlib import Path

CACHE = Path.home() / ".cache" / "penstock"


def lacking() -> str | None:
    """What is missing to fetch jars, in a sentence; None if nothing is."""
    if shutil.which("mvn") is None or shutil.which("java") is None:
        return "what this test runs is fetched by Maven, and there is no mvn or no java here: install both"
    return None


def fetched(pom: Path) -> list[Path]:
    """The jars that a pom file asks for."""
    folder = CACHE / pom.parent.name / f"{pom.stem}-{hashlib.sha256(pom.read_bytes()).hexdigest()[:12]}"
    folder.parent.mkdir(parents=True, exist_ok=True)
    with folder.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not folder.exists():
            aside = folder.with_suffix(".new")
            shutil.rmtree(aside, ignore_errors=True)
            command = ["mvn", "-q", "-B", "-f", str(pom), "dependency:copy-dependencies", "-DincludeScope=runtime"]
            done = subprocess.run(
                [*command, f"-DoutputDirectory={aside}"], capture_output=True, text=True, check=False, timeout=900
            )
            if done.returncode:
                raise RuntimeError(f"Maven could not fetch what {pom} asks for: {done.stdout[-2000:]}")
            aside.rename(folder)
    return sorted(folder.glob("*.jar"))
