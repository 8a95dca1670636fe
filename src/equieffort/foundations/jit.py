"""Loops compiled by numba and kept on disk wherever this process may write.

numba keeps compiled loops beside the module or in the user's cache folder, and refuses to compile at all where neither
can be written: in containers, in a shared installation, for an account without a home. A folder among the temporary
files does then, and where there is none either, each process compiles for itself. What is kept saves time and nothing
else: no audit ends because it cannot be read or written.

Of what a loop is made from numba looks only at the file in which it stands, not at the loops and constants it uses
(numba issue 1833): after an update it would go on with old parts. Here what is kept belongs to all of them together.

Kernels are plain functions with a mark: Python can run them as they are, and `linked` compiles one with all it calls.
The same kernel can be linked several times with other functions in the place of some that it calls, which is how one
search serves several kinds of models.
"""

from __future__ import annotations

import gc
import hashlib
import os
import stat
import tempfile
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any

import numba

from equieffort.foundations.deferred import compact, deferred, gathering
from equieffort.foundations.records import constructors

Loop = Callable[..., Any]


def njit(**options: Any) -> Callable[[Loop], Loop]:
    """As `numba.njit(cache=True, ...)`, also where nothing can be kept.

    >>> @njit(nogil=True)
    ... def twice(x):
    ...     return 2 * x
    >>> twice(21)
    42
    """

    def compiled(loop: Loop) -> Loop:
        try:
            kept = numba.njit(cache=True, **options)(loop)
        except RuntimeError:
            kept = _kept_aside(loop, options)
        return _stamped(_forgiving(kept))

    return compiled


def kernel(function: Loop) -> Loop:
    """Mark a plain function as one that `linked` compiles where another kernel calls it.

    It works on arrays that its callers hold, makes none and returns none: so nobody need count who uses them, which
    would take as long as the work itself. One that makes arrays is a `maker`, and so are those that call it.
    """
    function.__dict__["is_kernel"] = True
    return function


def hot(function: Loop) -> Loop:
    """Mark a kernel in which most of the time is spent: compiled for speed, also as a part of something large."""
    function.__dict__["is_hot"] = True
    return kernel(function)


def maker(function: Loop) -> Loop:
    """Mark a kernel that makes arrays."""
    function.__dict__["makes_arrays"] = True
    return kernel(function)


class Linked:
    """A kernel with all it calls: compiled where it is called, interpreted (to the same bits) where that is asked for.

    >>> @kernel
    ... def step(x):
    ...     return x + 1.0
    >>> @kernel
    ... def twice(x):
    ...     return step(step(x))
    >>> linked(twice)(1.0), linked(twice).interpreted(1.0)
    (3.0, 3.0)
    >>> @kernel
    ... def leap(x):
    ...     return 10.0 * x
    >>> linked(twice, "leaps", step=leap)(1.0)
    100.0
    """

    def __init__(self, entry: Loop, name: str, parts: dict[str, Loop], *, is_large: bool, parallel: bool) -> None:
        self.interpreted = _twin(entry, parts, lambda function: function, {})
        calls = _twin(entry, parts, _alone if parallel else _inner, {}, whole=False)
        calls.__qualname__ = f"{entry.__qualname__}-{name}" if name else entry.__qualname__
        how: dict[str, Any] = {} if gathering is None else {"pipeline_class": compact if is_large else gathering}
        how = {"parallel": True} if parallel else how
        self.compiled: Any = njit(nogil=True, error_model="numpy", no_cfunc_wrapper=True, **how)(calls)

    def __call__(self, *arguments: Any) -> Any:
        """What the compiled kernel answers."""
        if hasattr(self.compiled, "typeof_pyval") and not self.compiled.signatures:
            # The collector finds nothing to free while numba compiles, and takes a tenth of the time.
            collects = gc.isenabled()
            gc.disable()
            try:
                self.compiled.compile(tuple(self.compiled.typeof_pyval(argument) for argument in arguments))
            finally:
                if collects:
                    gc.enable()
        return self.compiled(*arguments)


def linked(entry: Loop, name: str = "", *, is_large: bool = False, parallel: bool = False, **parts: Loop) -> Linked:
    """A kernel ready to be called, with `parts` in the place of what it calls by these names.

    `is_large`: it calls many others, whose loops are short; `parallel`: it spreads its work over threads by
    `numba.prange`, which interpreted is a range.
    """
    return Linked(entry, name, parts, is_large=is_large, parallel=parallel)


def _inner(function: Loop) -> Loop:
    """A loop that only compiled loops call."""
    how = {} if deferred is None else {"pipeline_class": deferred}
    # Where records are not addresses, arrays are handed on with them, and everybody counts.
    counts = function.__dict__.get("makes_arrays", False) or not constructors
    wrap = numba.njit(error_model="numpy", no_cpython_wrapper=True, no_cfunc_wrapper=True, _nrt=counts, **how)
    return wrap(function)


def _alone(function: Loop) -> Loop:
    """A loop that compiled loops call on many threads: numba puts these together itself."""
    return numba.njit(error_model="numpy", no_cpython_wrapper=True, no_cfunc_wrapper=True, nogil=True)(function)


def _twin(function: Any, parts: dict[str, Loop], made_by: Any, made: dict[Loop, Loop], *, whole: bool = True) -> Loop:
    """The function with twins of all kernels that it calls, each made once; `whole`: it is made into one itself."""
    if function in made:
        return made[function]
    known = function.__globals__
    called = {name: parts.get(name, known.get(name)) for name in _names(function.__code__)}
    twins = {
        name: _twin(other, parts, made_by, made) for name, other in called.items() if getattr(other, "is_kernel", False)
    }
    if made_by in (_inner, _alone):
        twins |= {name: constructors[other] for name, other in called.items() if _is_record(other)}
    twin = FunctionType(function.__code__, {**known, **twins}, function.__name__, function.__defaults__)
    twin.__qualname__, twin.__module__ = function.__qualname__, function.__module__
    twin.__dict__.update(function.__dict__)
    made[function] = made_by(twin) if whole else twin
    return made[function]


def _is_record(known: Any) -> bool:
    return isinstance(known, type) and known in constructors


def _names(code: CodeType) -> list[str]:
    """The global names that code may use, those of its inner functions too."""
    inner = [part for part in code.co_consts if isinstance(part, CodeType)]
    return [*code.co_names, *(name for part in inner for name in _names(part))]


def _stamped(loop: Loop) -> Loop:
    """What is kept is taken for another's where anything that it is made from has changed."""
    file: Any = getattr(getattr(loop, "_cache", None), "_cache_file", None)
    if hasattr(file, "_source_stamp"):
        file._source_stamp = (file._source_stamp, digest(loop))
    return loop


def digest(loop: Loop) -> str:
    """Of the code of a loop and of all it calls, and of the constants these use."""
    told: dict[Any, str] = {"how": _how()}
    _tell(loop, told)
    return hashlib.sha256("\n".join(told.values()).encode()).hexdigest()


@cache
def _how() -> str:
    """How loops are compiled: this module, and those that lean on numba's internals."""
    return "".join(
        Path(__file__).with_name(name).read_text(encoding="utf-8") for name in ("jit.py", "deferred.py", "records.py")
    )


def _tell(loop: Any, told: dict[Any, str]) -> None:
    function = getattr(loop, "py_func", loop)
    if function in told:
        return
    told[function] = f"{_code(function.__code__)} {function.__defaults__} {sorted(function.__dict__)} "
    told[function] += repr(getattr(loop, "targetoptions", ""))
    for name in _names(function.__code__):
        used = function.__globals__.get(name)
        if hasattr(used, "py_func"):
            _tell(used, told)
        elif used is not None and not isinstance(used, ModuleType):
            # Of a class of arrays the fields count, of all else what it is: a number, a text, a tuple of these.
            told[function] += (
                f"{name}={getattr(used, '_fields', used)!r};"
                if not callable(used)
                else (f"{name}={getattr(used, '_fields', name)!r};")
            )


def _code(code: CodeType) -> str:
    constants = [_code(part) if isinstance(part, CodeType) else repr(part) for part in code.co_consts]
    return f"{code.co_code.hex()} {code.co_names} {constants}"


def _kept_aside(loop: Loop, options: dict[str, Any]) -> Loop:
    folder = _temporary_folder()
    if folder is not None:
        # Only where this loop is kept is decided now, so nobody else's loops move.
        before, numba.config.CACHE_DIR = numba.config.CACHE_DIR, str(folder)
        try:
            return numba.njit(cache=True, **options)(loop)
        except RuntimeError:
            pass
        finally:
            numba.config.CACHE_DIR = before
    return numba.njit(**options)(loop)


@cache
def _temporary_folder() -> Path | None:
    """A folder of this user alone, the same for all their processes: what is kept in it will be executed."""
    user = os.getuid() if hasattr(os, "getuid") else None
    try:
        folder = Path(tempfile.gettempdir()) / ("equieffort" if user is None else f"equieffort-{user}")
        folder.mkdir(mode=0o700, exist_ok=True)
        found = folder.lstat()
    except OSError:
        return None
    if user is None:
        # Without user numbers temporary files are each user's own.
        return folder
    mine = stat.S_ISDIR(found.st_mode) and found.st_uid == user and not stat.S_IMODE(found.st_mode) & 0o077
    return folder if mine else None


def _forgiving(loop: Loop) -> Loop:
    """A full disk or a damaged file means compiling again."""
    kept = getattr(loop, "_cache", None)
    if kept is None:
        return loop

    def tried(step: Loop) -> Loop:
        def answer(*arguments: Any) -> Any:
            try:
                return step(*arguments)
            except Exception:  # whatever a damaged file may unpickle to
                with suppress(OSError):
                    kept.flush()
                return None

        return answer

    for name in ("load_overload", "save_overload"):
        setattr(kept, name, tried(getattr(kept, name)))
    return loop
