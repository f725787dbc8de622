"""What the registry shows of a release: links of the README that work there, and the project's URLs.

Both rest on where the repository is: `PENSTOCK_REPOSITORY`, or the `origin` of the clone that is built, or what the
source archive says that is built. Where none is known, links stay as they are and there are no URLs.
"""

from __future__ import annotations

import os
import re
import subprocess
from email.parser import HeaderParser
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

_LINK = re.compile(r"(!?)(\[[^\]]*\])\((?![a-z]+:|#)([^)\s]+)\)")


class CustomMetadataHook(MetadataHookInterface):
    """Fills in `readme` and `urls`."""

    def update(self, metadata: dict[str, Any]) -> None:
        """See hatchling."""
        root = Path(self.root)
        text = (root / "README.md").read_text(encoding="utf-8")
        found = repository(root)
        metadata["readme"] = {"content-type": "text/markdown", "text": text if found is None else linked(text, found)}
        metadata["urls"] = {} if found is None else urls(found)


def urls(repository: str) -> dict[str, str]:
    """What stands beside the package."""
    return {
        "Repository": repository,
        "Documentation": f"{repository}/tree/HEAD/docs",
        "Changelog": f"{repository}/blob/HEAD/CHANGELOG.md",
        "Issues": f"{repository}/issues",
    }


def linked(text: str, repository: str) -> str:
    """The text, with links to files of the repository that work from anywhere."""
    return _LINK.sub(lambda m: f"{m[1]}{m[2]}({repository}/{'raw' if m[1] else 'blob'}/HEAD/{m[3]})", text)


def repository(root: Path) -> str | None:
    """Where the repository is, as a URL for browsers; None if nothing says so."""
    if told := os.environ.get("PENSTOCK_REPOSITORY"):
        return told.rstrip("/")
    archive = root / "PKG-INFO"
    if archive.exists():
        known = HeaderParser().parsestr(archive.read_text(encoding="utf-8")).get_all("Project-URL", [])
        return next((url.partition(", ")[2] for url in known if url.startswith("Repository, ")), None)
    asked = ["git", "-C", str(root), "remote", "get-url", "origin"]
    try:
        origin = subprocess.run(asked, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return None
    return browsed(origin)


def browsed(origin: str) -> str | None:
    """The address for browsers of what git fetches from; None of a folder."""
    known = re.fullmatch(r"(?:https://(?:[^@/]*@)?|ssh://git@|git@)([^/:]+)[:/](.+?)(?:\.git)?/?", origin)
    return None if known is None else f"https://{known[1]}/{known[2]}"
