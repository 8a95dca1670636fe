"""The table of all keys as the documentation shows it.

>>> [row.path for row in rows() if row.path.startswith("sensitive.r")]
['sensitive.reference', 'sensitive.reference.rest', 'sensitive.reference.all_pairs']
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from equieffort.spec.keys import SPEC
from equieffort.spec.kinds import Either, Kind
from equieffort.spec.sections import ByKind, Key, MapOf, Section


@dataclass(frozen=True)
class Row:
    """A key as the documentation shows it."""

    path: str
    key: Key
    forms: tuple[str, ...] = ()
    """The kinds under which alone there is such a key."""

    @property
    def kind(self) -> str:
        """In words."""
        kind = self.key.kind
        if isinstance(kind, Section):
            return f"{kind.keys[kind.short].kind.words} or a table" if kind.short else "a table"
        if isinstance(kind, ByKind):
            return "a kind or a table"
        if isinstance(kind, Either):
            return " or ".join(replace(self, key=replace(self.key, kind=form)).kind for form in kind.forms)
        return kind.words

    @property
    def about(self) -> str:
        """What it decides."""
        *first, last = (f"`{form}`" for form in self.forms or [""])
        kinds = f"{', '.join(first)} and {last}" if first else last
        return f"Under {kinds}: {self.key.about}" if self.forms else self.key.about

    @property
    def default(self) -> str:
        """In words."""
        if self.key.required:
            return "required"
        default: Any = self.key.default
        if default is None:
            return ""
        if isinstance(default, bool):
            return f"`{str(default).lower()}`"
        if isinstance(default, list):
            return f"`[{', '.join(map(str, default))}]`"
        return f'`"{default}"`' if isinstance(default, str) else f"`{default:.10g}`"


def rows(section: Section = SPEC, above: str = "") -> Iterator[Row]:
    """Every key with its path, sections before what is in them."""
    for name, key in section.keys.items():
        path = f"{above}{name}"
        yield Row(path, key)
        inner, star = _section(key.kind)
        if isinstance(inner, Section):
            yield from rows(inner, f"{path}.{star}")
        elif inner is not None and not inner.told_at:
            yield Row(f"{path}.{star}kind", inner.kind)
            yield from _by_kind(inner, f"{path}.{star}")


def _by_kind(kinds: ByKind, above: str) -> Iterator[Row]:
    """The keys of all kinds; one that several kinds share is told once."""
    found: list[Row] = []
    for kind, form in kinds.forms.items():
        for name, key in form.keys.items():
            same = next((k for k, row in enumerate(found) if (row.path, row.key) == (f"{above}{name}", key)), None)
            if same is None:
                found.append(Row(f"{above}{name}", key, (kind,)))
            else:
                found[same] = replace(found[same], forms=(*found[same].forms, kind))
    yield from found


def _section(kind: Kind) -> tuple[Section | ByKind | None, str]:
    if isinstance(kind, Section | ByKind):
        return kind, ""
    if isinstance(kind, MapOf):
        return _section(kind.item)[0], "*."
    if isinstance(kind, Either):
        return next((form for form in kind.forms if isinstance(form, Section)), None), ""
    return None, ""
