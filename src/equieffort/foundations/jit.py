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

Compiling takes longer than small work takes interpreted, to the same bits. So where nothing is kept on disk a kernel is
interpreted as long as that is the sooner, judged by what its caller says of the work and by what was spent on it, and
compiled from then on. `compile_at_once` is for those who want everything compiled whatever the work.
"""

from __future__ import annotations

import gc
import hashlib
import inspect
import os
import stat
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any

import numba
import numpy as np

from equieffort.foundations.deferred import compact, deferred, gathering
from equieffort.foundations.records import constructors

Loop = Callable[..., Any]
SURE = 0.5
"""After so many seconds of work what is left of it is judged by what was done."""
_at_once = False
every: list[Linked] = []
"""All kernels that were linked in this process."""


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

    def __init__(
        self, entry: Loop, name: str, parts: dict[str, Loop], how: dict[str, Any], in_numpy: Loop | None, worth: float
    ) -> None:
        is_parallel = "parallel" in how
        self.interpreted = _twin(entry, parts, lambda function: function, {})
        self.in_numpy = self.interpreted if in_numpy is None else in_numpy
        self.worth, self.spent, self._missed = worth, 0.0, set[Any]()
        calls = _twin(entry, parts, _alone if is_parallel else _inner, {}, whole=False)
        calls.__qualname__ = f"{entry.__qualname__}-{name}" if name else entry.__qualname__
        self.compiled: Any = njit(nogil=True, error_model="numpy", no_cfunc_wrapper=True, **how)(calls)
        every.append(self)

    def __call__(self, *arguments: Any, work: float = np.inf) -> Any:
        """What the kernel answers; `work` is how many seconds it would take about, without compiling."""
        if not self.is_sooner_compiled(arguments, work):
            began = time.thread_time()
            try:
                # What Python refuses to compute, compiled kernels compute like the processor.
                with suppress(ArithmeticError), np.errstate(all="ignore"):
                    return self.in_numpy(*arguments)
            finally:
                self.spent += time.thread_time() - began
        return self.compiled(*arguments)

    def one_by_one(
        self, arguments: tuple[Any, ...], rows: int, each: float, instead: Callable[[], tuple[Any, ...]] | None = None
    ) -> Iterator[Any]:
        """What the interpreted kernel answers for one row after the other, as long as compiling is not the sooner.

        Rows are the kernel's last two arguments, first and last. Who takes it up then does so with the first row of
        which nothing was heard. `each` is how many seconds a row is expected to take, `instead` what makes, for each
        row anew, what the interpreted kernel is given in the place of the arguments.
        """
        if self.is_sooner_compiled((*arguments, 0, 1), rows * each):
            return
        began, before = time.thread_time(), self.spent
        for i in range(rows):
            try:
                with np.errstate(all="ignore"):
                    answer = self.interpreted(*(arguments if instead is None else instead()), i, i + 1)
            except ArithmeticError:
                return
            took = time.thread_time() - began
            self.spent = before + took
            yield answer
            if self.spent > self.worth or (took > SURE and took / (i + 1) * (rows - i - 1) > self.worth):
                return

    @property
    def name(self) -> str:
        """What it is called."""
        return str(self.compiled.__qualname__).lstrip("_")

    @property
    def was_kept(self) -> bool:
        """Whether all it was called with was found compiled, and not compiled now."""
        return sum(self.compiled.stats.cache_misses.values()) == 0

    @property
    def folder(self) -> str | None:
        """Where it lies compiled, if it does."""
        found = [shelf._cache_path for shelf in _shelves(self.compiled) if os.path.exists(shelf._index_path)]
        return str(found[0]) if found else None

    def is_sooner_compiled(self, arguments: tuple[Any, ...], work: float = np.inf) -> bool:
        """Whether so much more work justifies compiling; if it does, or a compiled kernel was kept, that is ready."""
        if not hasattr(self.compiled, "typeof_pyval") or self.compiled.signatures:
            return True
        is_small = not _at_once and self.spent + work <= self.worth
        if is_small and not _is_any_kept(self.compiled):
            return False
        types = tuple(self.compiled.typeof_pyval(argument) for argument in arguments)
        if is_small and (types in self._missed or not _is_kept(self.compiled, types)):
            self._missed.add(types)
            return False
        # The collector finds nothing to free while numba compiles, and takes a tenth of the time.
        collects = gc.isenabled()
        gc.disable()
        try:
            self.compiled.compile(types)
        finally:
            if collects:
                gc.enable()
        return True


def linked(
    entry: Loop,
    name: str = "",
    *,
    is_large: bool = False,
    parallel: bool = False,
    in_numpy: Loop | None = None,
    worth: float = 1.0,
    **parts: Loop,
) -> Linked:
    """A kernel ready to be called, with `parts` in the place of what it calls by these names.

    `is_large`: it calls many others, whose loops are short; `parallel`: it spreads its work over threads by
    `numba.prange`, which interpreted is a range; `in_numpy`: what does the same to the same bits without compiling,
    and sooner than the interpreted kernel; `worth`: seconds of work that justify compiling it, about what that takes.
    """
    how: dict[str, Any] = {} if gathering is None else {"pipeline_class": compact if is_large else gathering}
    return Linked(entry, name, parts, {"parallel": True} if parallel else how, in_numpy, worth)


@contextmanager
def compile_at_once() -> Iterator[None]:
    """In here every kernel that is called is compiled (or read, if it was kept), however little there is to do."""
    global _at_once
    before, _at_once = _at_once, True
    try:
        yield
    finally:
        _at_once = before


def _is_any_kept(compiled: Any) -> bool:
    """Whether a kernel was kept at all, which is told long before numba is ready to tell of what types."""
    return any(os.path.exists(shelf._index_path) for shelf in _shelves(compiled))


def _is_kept(compiled: Any, types: tuple[Any, ...]) -> bool:
    """Whether a kernel compiled for these types lies on disk; False where numba does not tell."""
    try:
        compiled.targetctx.refresh()
        key = compiled._cache._index_key(types, compiled.targetctx.codegen())
        return any(key in shelf._load_index() for shelf in _shelves(compiled))
    except Exception:  # whatever a numba of another time, or a damaged file, makes of this
        return False


def _shelves(compiled: Any) -> list[Any]:
    """Where a kernel may lie: where it is kept, and where it was before the folder could only be read.

    That is so in an image of a container. numba looks for nothing in folders it cannot write.
    """
    try:
        kept, file = compiled._cache, inspect.getfile(compiled.py_func)
        own = kept._cache_file
        folder = os.path.join(os.path.dirname(file), "__pycache__")
        if numba.config.CACHE_DIR:
            folder = os.path.join(numba.config.CACHE_DIR, kept._impl.locator.get_suitable_cache_subpath(file))
        if folder == own._cache_path:
            return [own]
        return [own, type(own)(folder, kept._impl.filename_base, own._source_stamp)]
    except Exception:  # whatever a numba of another time calls these, or nothing can be kept
        return []


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

    own, kept.save_overload = tried(kept.load_overload), tried(kept.save_overload)

    def load(types: Any, context: Any) -> Any:
        found = own(types, context)
        for shelf in _shelves(loop)[1:] if found is None else ():
            with suppress(Exception):
                data = shelf.load(kept._index_key(types, context.codegen()))
                found = data if data is None else kept._impl.rebuild(context, data)
            if found is not None:
                break
        return found

    kept.load_overload = load
    return loop
