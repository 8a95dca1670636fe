"""One audit, one file: a zip of JSON and plain arrays, read without the model, the data or pickle."""

from __future__ import annotations

import hashlib
import json
import os
import zipfile
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from equieffort.data.archive import PLAIN, Archive, array_bytes, write_archive
from equieffort.data.frames import Column, Encoding, row_dicts
from equieffort.data.regular import is_dir, is_file
from equieffort.effort.criteria import Criteria
from equieffort.effort.neighbours import Neighbourhood
from equieffort.errors import AuditFileError, EquieffortError, EquieffortWarning, label, sentence
from equieffort.foundations.arguments import check_path
from equieffort.foundations.saved import as_data, from_data
from equieffort.recourse.status import Status, fact_from_dict
from equieffort.recourse.table import FileSource, RecourseTable
from equieffort.results.files.checks import Contents, check_contents, check_groups
from equieffort.results.files.formats import other_version, read_json
from equieffort.results.files.shapes import check_fields
from equieffort.results.provenance import Provenance
from equieffort.world.schema import Schema, check_kinds

if TYPE_CHECKING:
    from equieffort.results.audits import Audit

FORMAT, VERSION = "equieffort-audit", 5
STORED = ("status", "cost", "bound", "intervention_mask", "delta", "level", "vanishing")
SCALARS = ("string", "integer", "floating", "mixed-integer-float", "boolean", "empty")
"""What pandas calls columns of values that JSON gives back as they were."""


def save(audit: Audit, path: str | os.PathLike[str]) -> None:
    """Write the audit; the file appears whole or not at all, and until then an earlier one stays as it is."""
    check_path("path", path, error=AuditFileError, code="AUDIT_FILE")
    target = Path(path)
    if not is_dir(target.parent):
        raise AuditFileError(
            "AUDIT_FILE", f"The folder {str(target.parent)!r} does not exist.", fix="Create it, or save elsewhere."
        )
    if is_dir(target):
        raise AuditFileError("AUDIT_FILE", f"{str(target)!r} is a folder.", fix="Give the path of a file.")
    manifest, arrays = _parts(audit)
    partial = target.with_name(f".{target.name}.{os.getpid()}.partial")
    try:
        parts = {"audit.json": _json(manifest)}
        write_archive(partial, parts | {f"{name}.npy": array_bytes(array) for name, array in arrays.items()})
        os.replace(partial, target)
    except OSError as error:
        raise AuditFileError(
            "RUN_WRITE",
            f"{str(target)!r} could not be written: {sentence(error.strerror or error)}",
            fix="Make room or write elsewhere, and try again; an earlier file of this name is as it was.",
        ) from error
    finally:
        with suppress(OSError):
            partial.unlink(missing_ok=True)


def _json(manifest: dict[str, Any]) -> bytes:
    # Half a character, as cut text leaves behind, is kept as it is; json.loads reads it likewise.
    return json.dumps(manifest, indent=1, ensure_ascii=False).encode(errors="surrogatepass")


def _parts(audit: Audit) -> tuple[dict[str, Any], dict[str, npt.NDArray[Any]]]:
    table, source = audit.recourse, audit.recourse.source
    everything = slice(None)
    arrays: dict[str, npt.NDArray[Any]] = {name: getattr(table, name) for name in STORED}
    facts = source.facts(everything)
    arrays |= {"codes": table.groups.codes, "facts": facts, "moved": source.moved(table, everything)}
    arrays["outside"] = source.outside()
    arrays |= {"values": source.interventions(table, everything)[1], "costs": source.costs(table, everything)}
    rest: list[dict[str, Any]] = []
    for name in (name for name in table.data.columns if name not in source.encoding.names):
        levels, arrays[f"rest{len(rest)}"] = _unused(table.data[name])
        rest.append({"name": name, "levels": levels})
    labels = _labels(table)
    if isinstance(labels, np.ndarray):
        arrays["index"] = labels
    reasons = {str(row): fact for row, fact in enumerate(table.reasons()) if fact is not None}
    manifest = {
        "format": FORMAT,
        "version": VERSION,
        "schema": source.schema,
        "columns": source.encoding.columns,
        "dtypes": _dtypes(table),
        "rest": rest,
        "order": list(table.data.columns),
        "groups": table.groups,
        "index": None if isinstance(labels, np.ndarray) else labels,
        "index_name": None if table.data.index.name is None else str(table.data.index.name),
        "reasons": reasons,
        "audience": table.audience,
        "ceilings": {
            str(row): most
            for row, most in table.ceilings.items()
            if np.isfinite(most) and table.status[row] == Status.UNKNOWN
        },
        "criteria": audit.criteria,
        "own_measures": _own_rows(audit),
        "neighbourhood": audit.neighbourhood,
        "warnings": [[w.code, w.what, w.fix] for w in audit.warnings],
        "provenance": audit.provenance,
        "data_sha256": hashlib.sha256(np.ascontiguousarray(facts).tobytes()).hexdigest(),
    }
    return as_data(manifest), arrays


def _own_rows(audit: Audit) -> list[dict[str, Any]]:
    """Measures of the caller's own as they were read: no file can hold their code."""
    kept = {measure.name for measure in audit.own} | {row["measure"] for row in audit.own_rows}
    return row_dicts(audit.measures[audit.measures["measure"].isin(kept)]) if kept else []


def _dtypes(table: RecourseTable) -> dict[str, str]:
    """The types of columns of numbers that are not read back in another one."""
    found = {name: table.data.dtypes[name] for name in table.source.encoding.names}
    return {name: str(kind) for name, kind in found.items() if isinstance(kind, np.dtype) and kind.kind in "iuf"}


def _unused(column: pd.Series) -> tuple[list[Any] | None, npt.NDArray[Any]]:
    """A column that nothing uses: its values as they are, or codes of levels; what JSON cannot hold becomes text."""
    values = column.to_numpy()
    if values.dtype.kind in PLAIN:
        return None, values
    if pd.api.types.infer_dtype(values, skipna=True) not in SCALARS:
        missing = column.isna().tolist()
        texts = [None if gone else str(value) for value, gone in zip(values, missing, strict=True)]
        values = np.array(texts, dtype=object)
    codes, levels = pd.factorize(values)
    return levels.tolist(), codes.astype(np.int32)


def _labels(table: RecourseTable) -> npt.NDArray[Any] | list[str]:
    """The index of X, also when positions stand for it, as an array or as a list of text."""
    for index in (table.data.index, table.index):
        if not isinstance(index, pd.MultiIndex):
            values = pd.Index(index.to_numpy()).infer_objects().to_numpy()
            if values.dtype.kind in PLAIN:
                return values
            if all(isinstance(value, str) for value in values):
                return values.tolist()
    raise AuditFileError(
        "AUDIT_FILE",
        f"A file holds labels that are all numbers, all text or all dates without time zone, but the index of X has "
        f"{label(table.index[0])} and others.",
        fix="Audit X.reset_index(): its labels become a column, and people are named by position.",
    )


def load(path: str | os.PathLike[str]) -> Audit:
    """Read an audit that `Audit.save` wrote; nothing in the file is executed."""
    check_path("path", path, "the path of an audit file", error=AuditFileError, code="AUDIT_FILE")
    source = Path(path)
    if not is_file(source):
        raise AuditFileError("AUDIT_FILE", f"There is no audit file at {str(source)!r}.", fix="Check the path.")
    try:
        with zipfile.ZipFile(source) as file:
            archive = Archive(file, source.stat().st_size)
            manifest = _manifest(source, archive.read("audit.json"))
            check_fields(manifest)
            others = archive.names - {"audit.json"}
            if strange := sorted(name for name in others if not name.endswith(".npy")):
                raise ValueError(f"it holds {strange[0]!r}, which no audit file has")
            arrays = {name[:-4]: archive.array(name) for name in others}
        return _rebuild(manifest, arrays)
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
    return manifest


def _rebuild(manifest: dict[str, Any], arrays: dict[str, npt.NDArray[Any]]) -> Audit:
    from equieffort.results.audits import Audit

    encoding = Encoding(from_data(tuple[Column, ...], manifest["columns"], "columns"))
    schema = Schema.from_dict(manifest["schema"])
    check_kinds(schema, encoding)
    provenance = Provenance.from_dict(manifest["provenance"])
    contents = Contents(manifest, arrays, schema, encoding, provenance)
    check_contents(contents)
    data = _data(manifest, arrays, encoding)
    check_groups(contents, data)
    reasons = {int(row): fact_from_dict(fact) for row, fact in manifest["reasons"].items()}
    saved = FileSource(schema, encoding, data, arrays, reasons)
    table = RecourseTable(
        saved,
        contents.groups,
        arrays["status"],
        arrays["cost"],
        arrays["bound"],
        arrays["intervention_mask"],
        arrays["delta"],
        arrays["level"],
        vanishing=arrays["vanishing"],
        ceilings={int(row): float(most) for row, most in manifest["ceilings"].items()},
        audience=manifest["audience"],
    )
    warnings = tuple(EquieffortWarning(*parts) for parts in manifest["warnings"])
    criteria = Criteria.from_dict(manifest["criteria"])
    near = Neighbourhood.from_dict(manifest["neighbourhood"])
    return Audit(table, criteria, near, warnings, provenance, own_rows=tuple(manifest["own_measures"]))


def _data(manifest: dict[str, Any], arrays: dict[str, npt.NDArray[Any]], encoding: Encoding) -> pd.DataFrame:
    """The people as they were audited, their columns in the order of X."""
    found: dict[str, npt.NDArray[Any]] = {}
    for k, column in enumerate(encoding.columns):
        values = column.decode(arrays["facts"][:, k])
        found[column.name] = values.astype(manifest["dtypes"].get(column.name, values.dtype))
    for k, saved in enumerate(manifest["rest"]):
        values, levels = arrays[f"rest{k}"], saved["levels"]
        found[saved["name"]] = values if levels is None else np.array([*levels, None], dtype=object)[values]
    index = pd.Index(arrays["index"] if manifest["index"] is None else manifest["index"], name=manifest["index_name"])
    return pd.DataFrame({name: found[name] for name in manifest["order"]}, index=index)
