"""load_model: one door for all formats. What a file is, is decided by its name and checked by its content."""

from __future__ import annotations

import stat
import warnings
from collections.abc import Callable, Collection
from os import PathLike
from pathlib import Path
from typing import Any

from equieffort.data.frames import percent
from equieffort.errors import ModelError, Setting, closest, sentence, warn
from equieffort.models.files import pickles
from equieffort.models.files.kept import Kept, read_kept
from equieffort.models.files.lightgbm_file import read_lightgbm
from equieffort.models.files.onnx_file import read_onnx
from equieffort.models.files.shared import bad_file, other_version
from equieffort.models.files.skops_file import read_skops
from equieffort.models.files.xgboost_file import read_xgboost

LARGEST = 2 << 30
"""Bytes; no format here is read beyond two gibibytes."""

READERS: dict[str, Callable[[bytes, Path], Any]] = {
    ".onnx": read_onnx,
    ".json": read_xgboost,
    ".ubj": read_xgboost,
    ".txt": read_lightgbm,
}


def load_model(
    path: str | PathLike[str], *, unsafe_load_pickle: bool = False, trusted: Collection[str] = ()
) -> Any:  # an object of any library, with predict
    """A classifier from a file, without running anything that is in the file.

    Parameters
    ----------
    path
        `.skops` (scikit-learn), `.onnx`, `.json` or `.ubj` (XGBoost), `.txt` (LightGBM).
    unsafe_load_pickle
        Also read `.pkl`, `.pickle` and `.joblib`. That runs whatever the file says: only for files you made.
    trusted
        Names of types in a skops file that are allowed besides those skops knows to be harmless.

    Returns
    -------
    An object with `predict` and, where the file tells, `classes_`, `feature_names_in_` and `predict_proba`.

    >>> load_model("model.h5")
    Traceback (most recent call last):
    equieffort.errors.ModelError: 'model.h5' is not a model file this program reads...
    """
    model, kept = read_model(Path(path), unsafe_load_pickle=unsafe_load_pickle, trusted=trusted)
    if kept is not None:
        warn(
            "SURROGATE_LOADED",
            f"{Path(path).name!r} holds a surrogate: a {kept.measured.kind} model trained on decisions, which repeats "
            f"{percent(kept.measured.agreement)} of those it has not seen. What is found in Python concerns this "
            "model, and says nothing of that.",
            fix="Name the file in a spec (`model: FILE`), whose verdict, page and letters say it.",
        )
    return model


def read_model(
    path: Path, *, unsafe_load_pickle: bool = False, trusted: Collection[str] = ()
) -> tuple[Any, Kept | None]:
    """The same, and what a kept surrogate says of itself."""
    suffix = path.suffix.lower()
    if suffix not in (".skops", *READERS, *pickles.SUFFIXES):
        raise bad_file(
            f"{path.name!r} is not a model file this program reads. "
            f"{closest(suffix, ['.skops', *READERS]) if suffix else ''}".rstrip(),
            fix="Save the model as .skops (scikit-learn), .onnx, .json or .ubj (XGBoost) or .txt (LightGBM).",
        )
    data, kept = _bytes(path), None
    if suffix in pickles.SUFFIXES and not unsafe_load_pickle:
        raise pickles.refuse(path)
    with warnings.catch_warnings(record=True) as issued:
        warnings.simplefilter("always")
        if suffix in pickles.SUFFIXES:
            model = pickles.unpickle(data, path)
        elif suffix == ".skops":
            model = read_skops(data, path, trusted)
            kept = read_kept(data, path)
        else:
            model = READERS[suffix](data, path)
    _reissue(issued, path)
    if isinstance(model, type) or not callable(getattr(model, "predict", None)):
        raise ModelError(
            "MODEL_NO_PREDICT",
            (f"{path.name!r} holds an object of type {type(model).__name__}, which ", Setting("no predict"), "."),
            fix="Save the fitted classifier itself, or the pipeline that ends with it.",
        )
    return model, kept


def _bytes(path: Path) -> bytes:
    """The file's content, read once: what is checked is what is loaded."""
    try:
        found = path.stat()
        if not stat.S_ISREG(found.st_mode) and not stat.S_ISDIR(found.st_mode):
            # A device or a pipe may never come to an end.
            raise bad_file(f"{str(path)!r} is not a file.", fix="Give the path of the file that the model is in.")
        if (size := found.st_size) > LARGEST:
            raise bad_file(
                f"{path.name!r} has {size:,} bytes; more than {LARGEST:,} are not read.",
                fix="Check that this is the model and not its data.",
            )
        with path.open("rb") as file:
            # A file that grows is not read for ever.
            data = file.read(LARGEST + 1)
    except OSError as error:
        raise bad_file(
            f"The model {str(path)!r} cannot be read: {sentence(error.strerror or error)}",
            fix=Setting("the model path"),
        ) from error
    if not data:
        raise bad_file(f"{path.name!r} is empty.", fix="Save the model again and copy the file whole.")
    return data


def _reissue(issued: list[warnings.WarningMessage], path: Path) -> None:
    """Hand warnings on; scikit-learn's about its version, one an estimator, become one of ours."""
    versions = set()
    for item in issued:
        if type(item.message).__name__ == "InconsistentVersionWarning":
            versions.add((item.message.original_sklearn_version, item.message.current_sklearn_version))  # type: ignore[union-attr]
        else:
            warnings.warn_explicit(item.message, item.category, item.filename, item.lineno)
    for saved, here in sorted(versions):
        other_version(path, "scikit-learn", saved, here)
