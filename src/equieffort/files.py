"""One audit, one file: a zip of JSON and plain arrays, read without the model, the data or pickle."""

from __future__ import annotations

import hashlib
import io
import json
import os
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from equieffort.distances import Distance, Euclidean, Manhattan
from equieffort.errors import AuditFileError, EquieffortWarning, sentence
from equieffort.frames import Column, Encoding
from equieffort.groups import Groups
from equieffort.neighbours import Everyone, Nearest, NearestK, Neighbourhood
from equieffort.scales import MAD, Own, Range, Scale, Std
from equieffort.schema import Feature, Schema
from equieffort.table import RecourseTable, Saved
from equieffort.verdict import Criteria

if TYPE_CHECKING:
    from equieffort._audit import Audit

FORMAT, VERSION = "equieffort-audit", 1
STORED = ("status", "cost", "bound", "chosen", "delta", "level")


def save(audit: Audit, path: str | os.PathLike[str]) -> None:
    """Write the audit; the file appears whole or not at all."""
    target = Path(path)
    if not target.parent.is_dir():
        raise AuditFileError(
            "AUDIT_FILE", f"The folder {str(target.parent)!r} does not exist.", fix="Create it, or save elsewhere."
        )
    manifest, arrays = _parts(audit)
    partial = target.with_name(f".{target.name}.partial")
    try:
        with zipfile.ZipFile(partial, "w", zipfile.ZIP_DEFLATED) as file:
            _member(file, "audit.json", json.dumps(manifest, indent=1, ensure_ascii=False).encode())
            for name, array in arrays.items():
                buffer = io.BytesIO()
                np.save(buffer, np.ascontiguousarray(array), allow_pickle=False)
                _member(file, f"{name}.npy", buffer.getvalue())
        os.replace(partial, target)
    finally:
        partial.unlink(missing_ok=True)


def _member(file: zipfile.ZipFile, name: str, content: bytes) -> None:
    # A fixed date makes the same audit the same bytes.
    info = zipfile.ZipInfo(name, date_time=(1980, 1, 1, 0, 0, 0))
    info.compress_type = zipfile.ZIP_DEFLATED
    file.writestr(info, content)


def _parts(audit: Audit) -> tuple[dict[str, Any], dict[str, npt.NDArray[Any]]]:
    table, detail = audit.recourse, audit.recourse.detail
    everything = slice(None)
    arrays: dict[str, npt.NDArray[Any]] = {name: getattr(table, name) for name in STORED}
    facts = detail.facts(everything)
    arrays |= {"codes": table.groups.codes, "facts": facts, "moved": detail.moved(table, everything)}
    arrays["outside"] = detail.outside()
    arrays |= {"values": detail.chosen(table, everything)[1], "costs": detail.costs(table, everything)}
    rest = Encoding.of(table.data, [n for n in table.data.columns if n not in detail.encoding.names])
    arrays["rest"] = rest.encode(table.data)
    index = table.index
    numeric = pd.api.types.is_integer_dtype(index.dtype)
    if numeric:
        arrays["index"] = index.to_numpy()
    reasons = {str(row): text for row, text in enumerate(table.reasons()) if text}
    manifest = {
        "format": FORMAT,
        "version": VERSION,
        "schema": detail.schema.to_dict(),
        "columns": [_column(column) for column in detail.encoding.columns],
        "rest": [_column(column) for column in rest.columns],
        "groups": {
            "labels": list(table.groups.labels),
            "protected": list(table.groups.protected),
            "reference": table.groups.reference,
        },
        "index": None if numeric else [str(label) for label in index],
        "index_name": None if index.name is None else str(index.name),
        "reasons": reasons,
        "criteria": audit.criteria.to_dict(),
        "neighbourhood": _neighbourhood(audit.neighbourhood),
        "warnings": [[w.code, w.what, w.fix] for w in audit.warnings],
        "about": audit.about | {"data_sha256": hashlib.sha256(np.ascontiguousarray(facts).tobytes()).hexdigest()},
    }
    return _plain(manifest), arrays


def _plain(value: Any) -> Any:
    """Numpy values become Python's own; what JSON cannot hold becomes text."""
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_plain(item) for item in value]
    if isinstance(value, np.generic):
        return _plain(value.item())
    return value if value is None or isinstance(value, str | int | float | bool) else str(value)


def _column(column: Column) -> dict[str, Any]:
    return {"name": column.name, "kind": column.kind, "levels": list(column.levels)}


_SCALES: dict[str, type[Scale]] = {"range": Range, "std": Std, "mad": MAD, "own": Own}


def _neighbourhood(chosen: Neighbourhood) -> dict[str, Any]:
    if isinstance(chosen, Nearest):
        return {"kind": "nearest", "quantile": chosen.quantile, "distance": _distance(chosen.distance)}
    if isinstance(chosen, NearestK):
        return {"kind": "nearest_k", "k": int(chosen.k), "distance": _distance(chosen.distance)}
    return {"kind": "everyone"}


def _distance(distance: Distance) -> dict[str, Any] | None:
    if not isinstance(distance, Manhattan | Euclidean):
        return None
    scale = next(name for name, kind in _SCALES.items() if isinstance(distance.scale, kind))
    quantiles = list(distance.scale.quantiles) if isinstance(distance.scale, Range) else None
    return {
        "kind": "manhattan" if isinstance(distance, Manhattan) else "euclidean",
        "features": None if distance.features is None else list(distance.features),
        "scale": scale,
        "quantiles": quantiles,
        "include_protected": distance.include_protected,
    }


def load(path: str | os.PathLike[str]) -> Audit:
    """Read an audit that `Audit.save` wrote; nothing in the file is executed."""
    source = Path(path)
    if not source.is_file():
        raise AuditFileError("AUDIT_FILE", f"There is no audit file at {str(source)!r}.", fix="Check the path.")
    try:
        with zipfile.ZipFile(source) as file:
            manifest = json.loads(file.read("audit.json"))
            if not isinstance(manifest, dict) or manifest.get("format") != FORMAT:
                raise KeyError("format")
            _check_version(source, manifest.get("version"))
            arrays = {
                name[:-4]: np.load(io.BytesIO(file.read(name)), allow_pickle=False)
                for name in file.namelist()
                if name.endswith(".npy")
            }
        return _rebuild(manifest, arrays)
    except AuditFileError:
        raise
    except (zipfile.BadZipFile, KeyError, ValueError, TypeError, EOFError, OSError) as error:
        raise AuditFileError(
            "AUDIT_FILE",
            f"{str(source)!r} is not a complete audit file: {type(error).__name__}: {sentence(error)}",
            fix="Save the audit again; a file cut short by a full disk or a broken transfer looks like this.",
        ) from error


def _check_version(source: Path, version: Any) -> None:
    if version != VERSION:
        raise AuditFileError(
            "AUDIT_FILE",
            f"{str(source)!r} has file version {version}; this equieffort reads version {VERSION}.",
            fix="Read it with the version of equieffort that wrote it, or upgrade.",
        )


def _rebuild(manifest: dict[str, Any], arrays: dict[str, npt.NDArray[Any]]) -> Audit:
    from equieffort._audit import Audit

    encoding = _encoding(manifest["columns"])
    n = len(arrays["status"])
    if any(len(array) != n for array in arrays.values()):
        raise ValueError("arrays of different length")
    index = pd.Index(arrays["index"] if manifest["index"] is None else manifest["index"], name=manifest["index_name"])
    data = encoding.decode(arrays["facts"], index)
    rest = _encoding(manifest["rest"]).decode(arrays["rest"], index)
    data = data.assign(**{name: rest[name] for name in rest.columns})
    reasons = {int(row): text for row, text in manifest["reasons"].items()}
    saved = Saved(_schema(manifest["schema"]), encoding, data, arrays, reasons)
    groups = manifest["groups"]
    table = RecourseTable(
        saved,
        Groups(tuple(groups["labels"]), arrays["codes"], tuple(groups["protected"]), groups["reference"]),
        arrays["status"],
        arrays["cost"],
        arrays["bound"],
        arrays["chosen"],
        arrays["delta"],
        arrays["level"],
    )
    warnings = tuple(EquieffortWarning(*parts) for parts in manifest["warnings"])
    criteria = Criteria.from_dict(manifest["criteria"])
    return Audit(table, criteria, _read_neighbourhood(manifest["neighbourhood"]), warnings, manifest["about"])


def _encoding(columns: list[dict[str, Any]]) -> Encoding:
    return Encoding(tuple(Column(c["name"], c["kind"], tuple(c["levels"])) for c in columns))


def _schema(saved: dict[str, Any]) -> Schema:
    features = {}
    for name, parts in saved["features"].items():
        pairs: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in parts.items()}
        features[name] = Feature(pairs.pop("role"), **pairs)
    sensitive = saved["sensitive"]
    return Schema(
        sensitive=sensitive[0] if len(sensitive) == 1 else sensitive,
        protected=saved["protected"],
        reference=saved["reference"],
        favourable=saved["favourable"],
        also_protected=saved["also_protected"],
        features=features,
    )


def _read_neighbourhood(saved: dict[str, Any]) -> Neighbourhood:
    if saved["kind"] == "everyone" or saved["distance"] is None:
        # A distance of the caller's own cannot be stored; individuals are then asked for with one.
        return Everyone()
    given = saved["distance"]
    scale: Scale = Range(tuple(given["quantiles"])) if given["scale"] == "range" else _SCALES[given["scale"]]()
    kind = Manhattan if given["kind"] == "manhattan" else Euclidean
    distance = kind(given["features"], scale, given["include_protected"])
    if saved["kind"] == "nearest":
        return Nearest(saved["quantile"], distance)
    return NearestK(saved["k"], distance)
