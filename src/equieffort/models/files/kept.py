"""What a kept surrogate says of itself, inside its skops file: that it is one, and how well it repeats decisions.

The file travels under any name, so the facts are a part of it. They can only make an audit more careful: a model
without them counts as the system itself. What they claim is compared with the record wherever there is one.
"""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from equieffort.foundations.saved import as_fields, from_fields, is_scalar, other_version, read_json
from equieffort.models.fidelity import Surrogate
from equieffort.models.files.shared import bad_file

FACTS = "equieffort.json"
"""The part of the archive that holds them; skops does not look at it."""
FORM, VERSION = "equieffort surrogate", 2
MOST = 1 << 24
"""Bytes; facts about groups are never as long."""


@dataclass(frozen=True)
class Kept:
    """A surrogate that was kept: how it was measured when it was trained, and in whose words it decides."""

    measured: Surrogate
    columns: tuple[str, ...]
    """The sensitive columns whose groups it was measured in."""
    favourable: Any
    """What it calls the decision people want."""
    wanted: tuple[Any, ...]
    """What the record calls it: one decision, or several."""
    elsewhere: bool = False
    """Whether it learned from a table of its own, so that no decision of the audited people need be recorded."""

    def __post_init__(self) -> None:
        if self.measured.refusals is None or not self.wanted:
            raise ValueError("it was not measured")
        if not all(map(is_scalar, (self.favourable, *self.wanted))):
            raise ValueError("what people want is no decision")

    @classmethod
    def of(
        cls, measured: Surrogate, columns: tuple[str, ...], favourable: Any, wanted: Any, *, elsewhere: bool = False
    ) -> Kept:
        """What is asked of it is not kept: that is for whoever audits it to say."""
        several = tuple(wanted) if isinstance(wanted, list | tuple) else (wanted,)
        return cls(replace(measured, required=0.0, min_refusal_recall=0.0), columns, favourable, several, elsewhere)

    def is_wanted(self, favourable: Any) -> bool:
        """Whether these are the decisions people want, in the words of the record or its own."""
        asked = list(favourable) if isinstance(favourable, list | tuple) else [favourable]
        return asked == [self.favourable] or (
            len(asked) == len(self.wanted) and all(one in asked for one in self.wanted)
        )

    def held_against(self, columns: tuple[str, ...], required: float, min_refusal_recall: float) -> Surrogate:
        """As it was measured beside what is asked of it; by group only where the same groups are compared."""
        asked = replace(self.measured, required=required, min_refusal_recall=min_refusal_recall)
        return asked if columns == self.columns else replace(asked, by_group={}, refusals_by_group={})


def facts_bytes(kept: Kept, parts: Mapping[str, bytes]) -> bytes:
    """The facts as a part of the archive, bound to the model in the other parts."""
    said = {"format": FORM, "version": VERSION, "model": parts_hash(parts), "facts": as_fields(kept)}
    return json.dumps(said, indent=1, sort_keys=True).encode(errors="surrogatepass")


def parts_hash(parts: Mapping[str, bytes]) -> str:
    """Names the model: of the parts by their names, without the facts."""
    digest = hashlib.sha256()
    for name in sorted(parts.keys() - {FACTS}):
        digest.update(f"{name}\0{len(parts[name])}\0".encode() + parts[name])
    return digest.hexdigest()


def read_kept(data: bytes, path: Path) -> Kept | None:
    """What an archive that was looked through says of itself; None of a model that is no kept surrogate."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        names = archive.namelist()
        if FACTS not in names:
            return None
        try:
            if len(set(names)) < len(names) or archive.getinfo(FACTS).file_size > MOST:
                raise ValueError("a part of it occurs twice or is too long")
            said = read_json(archive.read(FACTS))
            version = other_version(said, FORM, VERSION)
            if version is None:
                if said.keys() != {"format", "version", "model", "facts"}:
                    raise ValueError("they are not complete")
                kept = from_fields(Kept, said["facts"], "facts")
                is_own = said["model"] == parts_hash({name: archive.read(name) for name in names})
        except Exception as error:
            # Damage shows as errors of zip, of each way of packing and of JSON.
            raise _refused(path, f"cannot be read: {error}") from error
    if version is not None:
        raise _refused(path, f"are of version {version}; version {VERSION} is read here")
    if not is_own:
        raise _refused(path, "are about another model than the one beside them")
    return kept


def _refused(path: Path, why: str) -> Exception:
    return bad_file(
        f"{path.name!r} says that it is a surrogate, but the facts about how well it repeats decisions {why}.",
        fix="Copy the file again from where the audit wrote it, or train the surrogate again.",
    )
