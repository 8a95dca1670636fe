"""One audit, one file: a zip of JSON and plain arrays, read without the model, the data or pickle.

The people of an audit that was streamed are in a folder of Parquet parts, to which its file refers (`SavedParts`).
"""

from __future__ import annotations

import json
import os
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy.typing as npt

from equieffort.data.archive import Archive, write_archive
from equieffort.data.frames import row_dicts
from equieffort.data.regular import check_target, is_file, written_aside
from equieffort.effort.criteria import Criteria
from equieffort.effort.measures import MEASURES
from equieffort.effort.neighbours import Neighbourhood
from equieffort.effort.tallies import Tallying
from equieffort.errors import AuditFileError, EquieffortError, EquieffortWarning, sentence
from equieffort.foundations.arguments import check_path
from equieffort.foundations.saved import as_data, from_data, from_hints, other_version, read_json
from equieffort.recourse.part_source import PartsSource
from equieffort.recourse.saved_parts import SavedParts
from equieffort.recourse.saved_table import ACTIONS, SavedTable, action_arrays
from equieffort.recourse.table import RecourseTable
from equieffort.results.kept_curve import ARRAYS, PREFIX, SavedCurve
from equieffort.results.provenance import Provenance

if TYPE_CHECKING:
    from equieffort.results.audits import Audit

FORMAT, VERSION = "equieffort-audit", 14
OWN_MEASURE: dict[str, type] = (
    dict.fromkeys(("level", "about", "group", "against", "measure", "chance", "note"), str)
    | dict.fromkeys(("estimate", "low", "high", "least", "most", "assigned_least", "assigned_most"), float)
    | dict.fromkeys(("p", "p_beyond", "p_within", "p_adjusted"), float)
    | dict.fromkeys(("n", "n_against"), int)
)
"""What a row of a measure of the caller's own holds."""


@dataclass(frozen=True)
class SavedAudit:
    """What a file says of an audit beside its table."""

    criteria: Criteria
    own_measures: tuple[Mapping[str, Any], ...]
    """As they were read: no file can hold their code."""
    neighbourhood: Neighbourhood
    warnings: tuple[tuple[str, str, str], ...]
    provenance: Provenance
    further_ways: int
    """How many tables of further ways there are."""
    curve: SavedCurve | None
    """Of the report, where it rests on a sample of centres and was computed."""

    @classmethod
    def of(cls, audit: Audit, curve: SavedCurve | None) -> SavedAudit:
        """Everything but the table."""
        kept = {measure.name for measure in audit.own} | {row["measure"] for row in audit.own_rows}
        rows = row_dicts(audit.measures[audit.measures["measure"].isin(kept)]) if kept else []
        told = tuple((w.code, w.what, w.fix) for w in audit.warnings)
        ways = len(audit.alternatives)
        return cls(audit.criteria, tuple(rows), audit.neighbourhood, told, audit.provenance, ways, curve)

    def check(self, people: int) -> None:
        """Refuse what its types do not: rows of our own measures, impossible chances, people who are not there."""
        for row in self.own_measures:
            chances = (value for name, value in from_hints(OWN_MEASURE, row, "own_measures").items() if name[:1] == "p")
            if row["measure"] in MEASURES or any(value < 0 or value > 1 for value in chances):
                raise ValueError("'own_measures' does not hold what it should")
        if self.further_ways < 0:
            raise ValueError("there are fewer than no further ways")
        recorded = self.provenance.recorded
        if recorded is not None and not all(map(range(people).__contains__, (*recorded.differs, *recorded.unknown))):
            raise ValueError("recorded decisions are given for people who are not there")


def save(audit: Audit, path: str | os.PathLike[str]) -> None:
    """Write the audit; the file appears whole or not at all, and until then an earlier one stays as it is."""
    check_path("path", path, error=AuditFileError, code="AUDIT_FILE")
    target = Path(path)
    check_target(target, "save", AuditFileError, "AUDIT_FILE")
    source = audit.recourse.source
    table: SavedParts | SavedTable
    if isinstance(source, PartsSource):
        table = SavedParts.of(audit.recourse, source, target)
    else:
        table = SavedTable.of(audit.recourse)
    curve, around = SavedCurve.of(audit)
    manifest = {"format": FORMAT, "version": VERSION} | as_data(table) | as_data(SavedAudit.of(audit, curve))
    # Half a character, as cut text leaves behind, is kept as it is; json.loads reads it likewise.
    text = json.dumps(manifest, ensure_ascii=False).encode(errors="surrogatepass")
    fix = "Make room or write elsewhere, and try again; an earlier file of this name is as it was."
    with written_aside(target, fix, AuditFileError) as partial:
        held = dict(table.arrays) | around
        for number, way in enumerate(audit.alternatives, start=2):
            held |= {f"way{number}_{name}": array for name, array in action_arrays(way).items()}
        write_archive(partial, {"audit.json": text} | {f"{name}.npy": array for name, array in held.items()})


def load(path: str | os.PathLike[str]) -> Audit:
    """Read an audit that `Audit.save` wrote; nothing in the file is executed."""
    check_path("path", path, "the path of an audit file", error=AuditFileError, code="AUDIT_FILE")
    source = Path(path)
    if not is_file(source):
        raise AuditFileError(
            "AUDIT_FILE_MISSING",
            f"There is no audit file at {str(source)!r}.",
            fix="Check the path; an audit file ends in .audit.",
        )
    try:
        with zipfile.ZipFile(source) as file:
            archive = Archive(file, source.stat().st_size)
            manifest = _manifest(source, archive.read("audit.json"))
            others = archive.names - {"audit.json"}
            if strange := sorted(name for name in others if not name.endswith(".npy")):
                raise ValueError(f"it holds {strange[0]!r}, which no audit file has")
            arrays = {name[:-4]: archive.array(name) for name in others}
        return _rebuild(source, manifest, arrays)
    except AuditFileError:
        raise
    except Exception as error:
        # Damage can show as anything: zip, decompression, JSON, numpy and pandas each have errors of their own.
        what = f"{str(source)!r} is not a complete audit file: {_reason(error)}"
        raise AuditFileError(
            "AUDIT_FILE",
            what,
            fix="Save the audit again; a file cut short by a full disk or a broken transfer looks like this, and so "
            "does one that was changed after it was saved.",
        ) from error


def _reason(error: Exception) -> str:
    """What is wrong in a sentence: our own words as they are, those of others with their kind."""
    if isinstance(error, EquieffortError):
        return error.what
    return sentence(error) if type(error) is ValueError else f"{type(error).__name__}: {sentence(error)}"


def _manifest(source: Path, content: bytes) -> dict[str, Any]:
    manifest: dict[str, Any] = read_json(content)
    if (other := other_version(manifest, FORMAT, VERSION)) is not None:
        raise AuditFileError(
            "AUDIT_FILE",
            f"{str(source)!r} has file version {other}; this equieffort reads version {VERSION}.",
            fix="Make the audit again, or read the file with the version of equieffort that wrote it.",
        )
    return {name: value for name, value in manifest.items() if name not in ("format", "version")}


def _rebuild(source: Path, manifest: dict[str, Any], arrays: dict[str, npt.NDArray[Any]]) -> Audit:
    from equieffort.results.audits import Audit

    of_audit = {name: manifest.pop(name) for name in [one.name for one in fields(SavedAudit)] if name in manifest}
    found = from_data(SavedAudit, of_audit)
    ways = [_take_way(arrays, number) for number in range(2, 2 + found.further_ways)]
    around = _take_curve(arrays) if found.curve is not None else {}
    further: tuple[RecourseTable, ...] = ()
    if "parts" in manifest:
        if arrays or ways:
            raise ValueError("it holds arrays of people who are in parts")
        table = SavedParts.read(manifest, source, Tallying)
    else:
        saved = SavedTable.read(manifest, arrays)
        table = saved.table()
        further = tuple(saved.with_actions(way).table() for way in ways)
    found.check(len(table))
    if found.provenance.details is not None and found.provenance.details.twins is not None:
        found.provenance.details.twins.check(table)
    warnings = tuple(EquieffortWarning(*parts) for parts in found.warnings)
    own = tuple(dict(row) for row in found.own_measures)
    audit = Audit(
        table, found.criteria, found.neighbourhood, warnings, found.provenance, own_rows=own, alternatives=further
    )
    if found.curve is not None:
        found.curve.give(audit, around)
    return audit


def _take_curve(arrays: dict[str, npt.NDArray[Any]]) -> dict[str, npt.NDArray[Any]]:
    """The arrays of the curve, taken out of all there are."""
    names = [PREFIX + name for name in ARRAYS]
    if absent := [name for name in names if name not in arrays]:
        raise ValueError(f"it lacks {absent[0]!r}")
    return {name: arrays.pop(name) for name in names}


def _take_way(arrays: dict[str, npt.NDArray[Any]], number: int) -> dict[str, npt.NDArray[Any]]:
    """The arrays of the so manyth way, taken out of all there are."""
    if absent := [name for name in ACTIONS if f"way{number}_{name}" not in arrays]:
        raise ValueError(f"it lacks 'way{number}_{absent[0]}'")
    return {name: arrays.pop(f"way{number}_{name}") for name in ACTIONS}
