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
from equieffort.data.frames import Column, Encoding
from equieffort.data.regular import is_dir, is_file
from equieffort.effort.criteria import Criteria
from equieffort.effort.neighbours import Everyone, Nearest, NearestK, Neighbourhood, Unsaved
from equieffort.errors import AuditFileError, EquieffortError, EquieffortWarning, label, sentence
from equieffort.foundations.arguments import check_path
from equieffort.foundations.saved import as_data
from equieffort.recourse.status import Status, fact_from_dict
from equieffort.recourse.table import FileSource, RecourseTable
from equieffort.results.files.checks import Contents, check_contents, check_groups
from equieffort.results.files.formats import other_version, read_json
from equieffort.results.files.shapes import check_fields
from equieffort.results.provenance import Provenance
from equieffort.world.distances import Distance, Euclidean, Manhattan
from equieffort.world.groups import Groups
from equieffort.world.rules import constraint_from_dict
from equieffort.world.scales import MAD, Own, Range, Scale, Std
from equieffort.world.schema import Feature, Schema, check_kinds

if TYPE_CHECKING:
    from equieffort.results.audits import Audit

FORMAT, VERSION = "equieffort-audit", 4
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
    reasons = {str(row): fact.to_dict() for row, fact in enumerate(table.reasons()) if fact is not None}
    manifest = {
        "format": FORMAT,
        "version": VERSION,
        "schema": source.schema.to_dict(),
        "columns": [_column(column, table.data.dtypes[column.name]) for column in source.encoding.columns],
        "rest": rest,
        "order": list(table.data.columns),
        "groups": {
            "labels": list(table.groups.labels),
            "protected": list(table.groups.protected),
            "reference": table.groups.reference,
        },
        "index": None if isinstance(labels, np.ndarray) else labels,
        "index_name": None if table.data.index.name is None else str(table.data.index.name),
        "reasons": reasons,
        "audience": table.audience,
        "ceilings": {
            str(row): most
            for row, most in table.ceilings.items()
            if np.isfinite(most) and table.status[row] == Status.UNKNOWN
        },
        "criteria": audit.criteria.to_dict(),
        "own_measures": _own_rows(audit),
        "neighbourhood": _neighbourhood(audit.neighbourhood),
        "warnings": [[w.code, w.what, w.fix] for w in audit.warnings],
        "provenance": audit.provenance,
        "data_sha256": hashlib.sha256(np.ascontiguousarray(facts).tobytes()).hexdigest(),
    }
    return as_data(manifest), arrays


def _own_rows(audit: Audit) -> list[dict[str, Any]]:
    """Measures of the caller's own as they were read: no file can hold their code."""
    kept = {measure.name for measure in audit.own} | {row["measure"] for row in audit.own_rows}
    return audit.measures[audit.measures["measure"].isin(kept)].to_dict("records") if kept else []


def _column(column: Column, dtype: Any) -> dict[str, Any]:
    exact = str(dtype) if isinstance(dtype, np.dtype) and dtype.kind in "iuf" else None
    return {"name": column.name, "kind": column.kind, "levels": list(column.levels), "dtype": exact}


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


_SCALES: dict[str, type[Scale]] = {"range": Range, "std": Std, "mad": MAD, "own": Own}
_DISTANCES: dict[str, type[Manhattan | Euclidean]] = {"manhattan": Manhattan, "euclidean": Euclidean}


def _neighbourhood(chosen: Neighbourhood) -> dict[str, Any]:
    # A class of the caller's own that extends one of these may do anything: only these very classes are known.
    if type(chosen) is Everyone:
        return {"kind": "everyone"}
    if isinstance(chosen, Nearest | NearestK) and type(chosen) in (Nearest, NearestK):
        distance = _distance(chosen.distance)
        if distance is None:
            return {"kind": "unsaved", "was": f"{type(chosen).__name__} with {type(chosen.distance).__name__}"}
        if isinstance(chosen, Nearest):
            return {"kind": "nearest", "quantile": chosen.quantile, "distance": distance}
        return {"kind": "nearest_k", "k": int(chosen.k), "distance": distance}
    return {"kind": "unsaved", "was": chosen.was if isinstance(chosen, Unsaved) else type(chosen).__name__}


def _distance(distance: Distance) -> dict[str, Any] | None:
    kind = next((name for name, known in _DISTANCES.items() if type(distance) is known), None)
    if kind is None or not isinstance(distance, Manhattan | Euclidean):
        return None
    scale = next((name for name, known in _SCALES.items() if type(distance.scale) is known), None)
    if scale is None:
        raise AuditFileError(
            "AUDIT_FILE",
            f"The distance is scaled by {type(distance.scale).__name__}, which is not part of equieffort, so no file "
            "can hold it.",
            fix="Save dataclasses.replace(audit, neighbourhood=Everyone()), and pass neighbourhood= to individual().",
        )
    quantiles = list(distance.scale.quantiles) if isinstance(distance.scale, Range) else None
    return {
        "kind": kind,
        "features": None if distance.features is None else list(distance.features),
        "scale": scale,
        "quantiles": quantiles,
        "include_protected": distance.include_protected,
    }


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

    columns = manifest["columns"]
    encoding = Encoding(tuple(Column(c["name"], c["kind"], tuple(c["levels"])) for c in columns))
    schema = _schema(manifest["schema"])
    check_kinds(schema, encoding)
    provenance = Provenance.from_dict(manifest["provenance"])
    contents = Contents(manifest, arrays, schema, encoding, provenance)
    check_contents(contents)
    data = _data(manifest, arrays, encoding)
    check_groups(contents, data)
    reasons = {int(row): fact_from_dict(fact) for row, fact in manifest["reasons"].items()}
    saved = FileSource(schema, encoding, data, arrays, reasons)
    groups = manifest["groups"]
    table = RecourseTable(
        saved,
        Groups(
            tuple(groups["labels"]),
            arrays["codes"],
            tuple(groups["protected"]),
            groups["reference"],
            schema.sensitive_columns,
        ),
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
    near = _read_neighbourhood(manifest["neighbourhood"])
    return Audit(table, criteria, near, warnings, provenance, own_rows=tuple(manifest["own_measures"]))


def _data(manifest: dict[str, Any], arrays: dict[str, npt.NDArray[Any]], encoding: Encoding) -> pd.DataFrame:
    """The people as they were audited, their columns in the order of X."""
    found: dict[str, npt.NDArray[Any]] = {}
    for k, (column, saved) in enumerate(zip(encoding.columns, manifest["columns"], strict=True)):
        values = column.decode(arrays["facts"][:, k])
        found[column.name] = values if saved["dtype"] is None else values.astype(saved["dtype"])
    for k, saved in enumerate(manifest["rest"]):
        values, levels = arrays[f"rest{k}"], saved["levels"]
        found[saved["name"]] = values if levels is None else np.array([*levels, None], dtype=object)[values]
    index = pd.Index(arrays["index"] if manifest["index"] is None else manifest["index"], name=manifest["index_name"])
    return pd.DataFrame({name: found[name] for name in manifest["order"]}, index=index)


def _schema(saved: dict[str, Any]) -> Schema:
    features = {}
    for name, parts in saved["features"].items():
        pairs: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in parts.items()}
        features[name] = Feature(pairs.pop("role"), **pairs)
    sensitive, protected = saved["sensitive"], saved["protected"]
    if len(sensitive) > 1 and isinstance(protected, list) and not any(isinstance(key, list) for key in protected):
        # One group of several columns; in a list of groups each would be a list.
        protected = tuple(protected)
    return Schema(
        sensitive=sensitive[0] if len(sensitive) == 1 else sensitive,
        protected=protected,
        reference=saved["reference"],
        favourable=saved["favourable"],
        threshold=saved["threshold"],
        also_protected=saved["also_protected"],
        features=features,
        rules=[constraint_from_dict(link) for link in saved["rules"]],
    )


def _read_neighbourhood(saved: dict[str, Any]) -> Neighbourhood:
    if saved["kind"] == "everyone":
        return Everyone()
    if saved["kind"] == "unsaved":
        return Unsaved(saved["was"])
    given = saved["distance"]
    scale: Scale = Range(tuple(given["quantiles"])) if given["scale"] == "range" else _SCALES[given["scale"]]()
    distance = _DISTANCES[given["kind"]](given["features"], scale, given["include_protected"])
    if saved["kind"] == "nearest":
        return Nearest(saved["quantile"], distance)
    return NearestK(saved["k"], distance)
