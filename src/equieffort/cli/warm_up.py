"""`equieffort warm-up`: everything compiled ahead, for images of containers and machines that many share."""

from __future__ import annotations

import typer

from equieffort.cli.common import Quiet, tell
from equieffort.cli.progress import reporter


def warm_up(quiet: Quiet = False) -> None:
    """Compile everything an audit may need, so that no later process waits for it. Ends with 0; 3: nothing can be kept.

    What is compiled lies in the folder that NUMBA_CACHE_DIR names, else beside the package, else in the user's cache.
    """
    from equieffort.results.warming import compile_everything

    with reporter(quiet=quiet) as progress:
        warmed = compile_everything(progress)
    if quiet:
        return
    typer.echo(f"Kernels compiled: {len(warmed.compiled)}, found compiled: {len(warmed.kept)}. They are kept in:")
    for folder in warmed.folders:
        typer.echo(f"  {folder}")
    if warmed.is_temporary:
        tell("These are temporary files, which may not last: name another folder with NUMBA_CACHE_DIR.")
