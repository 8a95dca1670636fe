"""The README as PyPI shows it: without the repository around it, where a relative link leads nowhere.

Runs whenever the package is built (`[tool.hatch.metadata.hooks.custom]`). With the address of the repository's files,
`page` and `picture` in that table, links and pictures become absolute; without one, links become the names of the files
they lead to, and pictures are left out.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

LINK = re.compile(r"(!?)\[([^\]]*)\]\((?![a-z]+:|#)([^)\s]+)\)")


def as_pypi_shows_it(readme: str, page: str = "", picture: str = "") -> str:
    """Every relative link and picture made absolute, or put in words; `{path}` stands for the file."""

    def found(match: re.Match[str]) -> str:
        mark, text, path = match.groups()
        address = picture if mark else page
        if address:
            return f"{mark}[{text}]({address.format(path=path)})"
        if mark:
            return ""
        return f"`{path}`" if text == path else f"{text} (`{path}`)"

    return re.sub(r"\n{3,}", "\n\n", LINK.sub(found, readme))


class Readme(MetadataHookInterface):
    """Fills in the project's `readme`."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Called by hatchling."""
        readme = (Path(self.root) / "README.md").read_text(encoding="utf-8")
        text = as_pypi_shows_it(readme, self.config.get("page", ""), self.config.get("picture", ""))
        metadata["readme"] = {"content-type": "text/markdown", "text": text}
