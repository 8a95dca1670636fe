"""How the loops of branch and bound are compiled: what Python calls is kept on disk, with all it calls.

Compiling and keeping each inner loop by itself took longer and served nobody.
"""

from __future__ import annotations

from collections.abc import Callable

import numba

from equieffort.foundations.jit import Loop, njit

entry: Callable[[Loop], Loop] = njit(nogil=True, error_model="numpy", no_cfunc_wrapper=True)
"""A loop that Python calls; other threads go on meanwhile."""
inner: Callable[[Loop], Loop] = numba.njit(error_model="numpy", no_cpython_wrapper=True, no_cfunc_wrapper=True)
"""A loop that only compiled loops call."""
pasted: Callable[[Loop], Loop] = numba.njit(inline="always", error_model="numpy", no_cpython_wrapper=True)
"""A few lines that become part of each loop that calls them."""
