"""Every module that a document or a header names is there: rooms move, and what tells the way must move with them."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "penstock"
_MODULES = {path.relative_to(SOURCE).as_posix() for path in SOURCE.rglob("*.py")}
_NAMED = re.compile(r"(?<![\w/-])((?:[\w-]+/)*\w+\.py)\b")
_OTHERS = {"main.py", "job.py", "jobs/orders.py"}
"""Files of a user that examples speak of."""


def _is_there(name: str, made: set[str]) -> bool:
    is_ours = name in _MODULES or any(module.endswith(f"/{name}") for module in _MODULES)
    return is_ours or name in made | _OTHERS or (ROOT / name).exists()


def test_documents_name_modules_that_exist() -> None:
    pages = [*(ROOT / "docs").rglob("*.md"), *ROOT.glob("*.md")]
    assert len(pages) > 10
    for page in pages:
        text = page.read_text(encoding="utf-8")
        made = set(re.findall(r"file=(\S+\.py)", text))
        missing = sorted({name for name in _NAMED.findall(text) if not _is_there(name, made)})
        assert not missing, f"{page.relative_to(ROOT)} names {', '.join(missing)}"


def test_headers_name_modules_that_exist() -> None:
    for module in sorted(_MODULES):
        text = (SOURCE / module).read_text(encoding="utf-8")
        missing = sorted({name for name in _NAMED.findall(text) if not _is_there(name, set())})
        assert not missing, f"{module} names {', '.join(missing)}"
