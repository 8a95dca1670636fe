"""What the readers of model files share: optional libraries, and what is said of a file that cannot be used."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

from equieffort.errors import ModelError, ParameterError, sentence, warn


def need(module: str, extra: str, path: Path) -> Any:
    """A library that only some installations have.

    >>> need("no_such_library", "onnx", Path("model.onnx"))
    Traceback (most recent call last):
    equieffort.errors.ParameterError: Reading 'model.onnx' needs the package no_such_library, ...
    """
    try:
        return import_module(module)
    except ImportError as error:
        raise ParameterError(
            "OPTIONAL_DEPENDENCY",
            f"Reading {path.name!r} needs the package {module}, which cannot be imported here: {sentence(error)}",
            fix=f"Run pip install 'equieffort[{extra}]'.",
        ) from error


def broken(path: Path, kind: str, why: object) -> ModelError:
    """The error for a file that is not what its name says, or not all of it."""
    return ModelError(
        "MODEL_FILE",
        f"{path.name!r} is not a complete {kind} file: {sentence(why)}",
        fix="Save the model again and copy the file whole.",
    )


def other_version(path: Path, library: str, saved: str, here: str) -> None:
    """Warn that the library which saved a model is not the one that reads it."""
    warn(
        "MODEL_VERSION",
        f"{path.name!r} was saved by {library} {saved}, and is read by {here}.",
        fix=f"Read it with {library} {saved}, or save it again with {here}.",
        stacklevel=5,
    )
