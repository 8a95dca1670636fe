"""What the table of keys has checked, with its places: the parts of a spec are built from it, each in its module."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from equieffort.errors import EquieffortError
from equieffort.spec.nodes import Node, SpecError
from equieffort.words.problems import reworded, spec_text


@dataclass(frozen=True, eq=False)
class Parsed:
    """The values of a spec by their keys, and the tree that knows where each of them stands."""

    tree: Node
    values: dict[str, Any]
    folder: Path

    def __getitem__(self, key: str) -> Any:
        return self.values[key]

    def find(self, *path: str) -> Node:
        """The value under these keys, or the last one on the way that exists."""
        return self.tree.find(*path)

    def refuse(self, *path: str, what: str, fix: str, code: str = "SPEC_VALUE") -> SpecError:
        """An error at the value under these keys."""
        return self.find(*path).at.error(code, f"{'.'.join(path)} {what}", fix)


def again(error: EquieffortError, before: str, fix: str | None = None) -> EquieffortError:
    """The same error in the words of the spec, with words before it and perhaps another way out."""
    error = reworded(error)
    new = type(error)(error.code, f"{before}{error.what}", fix=error.fix if fix is None else fix)
    if isinstance(error, SpecError) and isinstance(new, SpecError):
        new.line, new.column = error.line, error.column
    return new


@contextmanager
def placed(node: Node, where: str, code: str = "", more: str = "") -> Iterator[None]:
    """Errors of the package itself get the place in the spec that caused them; `more` helps with one of the codes."""
    try:
        yield
    except SpecError:
        raise
    except EquieffortError as error:
        fix = spec_text(error.fix_parts) + (more if error.code == code else "")
        raise again(error, f"{node.at}: {where}: ", fix) from error
