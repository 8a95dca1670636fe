"""skops: scikit-learn models as a zip of arrays and a list of types; only known types are built."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from equieffort.data.archive import most_unpacked
from equieffort.errors import ModelError, Setting, listed
from equieffort.models.files.pickles import disguised, refuse
from equieffort.models.files.probe import probe
from equieffort.models.files.shared import bad_file, broken, need, require

UNPACKED = 2 << 30
"""Bytes; an archive that unpacks to more is refused before it is unpacked."""
TREES, OTHERS = (b"sklearn.tree._tree", b"_hist_gradient_boosting"), (b"sklearn.svm", b"sklearn.neighbors")
"""Models that compiled code walks by indices of theirs: read in a child process first. Trees are looked through once
they are here; the others are also asked there."""
MOST_PARTS = 5_000_000
"""Objects that are looked at; no model here has nearly as many."""


def read_skops(data: bytes, path: Path, trusted: Collection[str] = ()) -> Any:
    """The object in a skops file, if every type in it is one skops knows to be harmless or is in `trusted`."""
    schema = _check_archive(data, path)
    skops = need("skops.io", "skops", path)
    try:
        untrusted = [name for name in skops.get_untrusted_types(data=data) if name not in set(trusted)]
    except Exception as error:
        raise broken(path, "skops", f"{type(error).__name__}: {error}") from error
    if untrusted:
        raise ModelError(
            "MODEL_UNTRUSTED",
            f"{path.name!r} asks for {listed(untrusted, 20)}, which skops does not know to be harmless.",
            fix=(
                "If you know them and who made the file, ",
                Setting("trusted", untrusted),
                "; else save a model without them.",
            ),
        )
    if any(name in schema for name in TREES + OTHERS):
        probe("skops", data, path, trusted=list(trusted), ask=any(name in schema for name in OTHERS))
    try:
        model = skops.loads(data, trusted=list(trusted))
        check_trees(model)
    except Exception as error:
        raise broken(path, "skops", f"{type(error).__name__}: {error}") from error
    return model


def _check_archive(data: bytes, path: Path) -> bytes:
    """The description of what is in the archive, once its sizes were looked at."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            members = archive.infolist()
    except (zipfile.BadZipFile, ValueError, NotImplementedError, EOFError) as error:
        raise disguised(data, path) or broken(path, "skops", error) from error
    if any(member.filename.endswith(".pkl") for member in members):
        raise refuse(path)
    if not any(member.filename == "schema.json" for member in members):
        raise broken(path, "skops", "the archive has no schema.json")
    size, most = sum(member.file_size for member in members), min(UNPACKED, most_unpacked(len(data)))
    if size > most:
        raise bad_file(
            f"{path.name!r} unpacks to {size:,} bytes; more than {most:,} are not read.",
            fix="Check where the file comes from.",
        )
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            return archive.read("schema.json")
    except Exception as error:
        # Damage shows as errors of zip, of each way of packing and of the system.
        raise broken(path, "skops", f"{type(error).__name__}: {error}") from error


def check_trees(model: Any) -> None:
    """Refuse trees whose nodes point outside, at themselves or at features that do not exist; raises ValueError."""
    for part in _parts(model):
        kind = f"{type(part).__module__}.{type(part).__name__}"
        if kind == "sklearn.tree._tree.Tree":
            _check(part.children_left, part.children_right, part.children_left < 0, part.feature, part.n_features)
        elif isinstance(found := getattr(part, "_predictors", None), list):
            for predictor in (one for several in found for one in several):
                _check_predictor(predictor, int(part.n_features_in_))


def _check_predictor(predictor: Any, width: int) -> None:
    """A tree of HistGradientBoosting."""
    nodes = predictor.nodes
    _check(nodes["left"], nodes["right"], nodes["is_leaf"] != 0, nodes["feature_idx"], width)
    coded = nodes["is_categorical"] != 0
    for sets in (predictor.raw_left_cat_bitsets, predictor.binned_left_cat_bitsets):
        require(sets.ndim == 2 and sets.shape[1] == 8, "a set of categories has another size")
        require(np.all(nodes["bitset_idx"][coded] < len(sets)), "a set of categories is not there")


def _check(left: Any, right: Any, leaf: Any, feature: Any, width: int) -> None:
    inner = np.flatnonzero(~leaf)
    children = np.concatenate([left[inner], right[inner]]).astype(np.int64)
    n = len(left)
    require(n > 0, "a tree has no nodes")
    require(np.all((children > 0) & (children < n)), "a tree has children that are not its nodes")
    # Children come after their parents, so that every path comes to an end.
    require(np.all(children > np.tile(inner, 2)), "a tree runs in a circle")
    used = feature[inner].astype(np.int64)
    require(np.all((used >= 0) & (used < width)), "a tree splits on a feature that does not exist")


def _parts(model: Any) -> Iterator[Any]:
    """The model and everything in it, once."""
    stack, seen = [model], set()
    while stack:
        part = stack.pop()
        if isinstance(part, str | bytes | int | float | bool | type(None)) or id(part) in seen:
            continue
        seen.add(id(part))
        require(len(seen) < MOST_PARTS, f"it holds more than {MOST_PARTS:,} parts")
        yield part
        if isinstance(part, dict):
            stack.extend(part.values())
        elif isinstance(part, list | tuple | set | frozenset):
            stack.extend(part)
        elif isinstance(part, np.ndarray):
            stack.extend(part.ravel().tolist() if part.dtype == object else ())
        elif isinstance(getattr(part, "__dict__", None), dict) and not isinstance(part, type):
            stack.extend(vars(part).values())
