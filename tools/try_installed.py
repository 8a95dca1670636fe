"""Tries the package as it was installed, away from the repository: every module, the command, and an audit.

Run by the Python of a new environment into which only the wheel was installed, in isolated mode (`python -I`).
"""

from __future__ import annotations

import importlib
import pkgutil
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path

import equieffort


def modules() -> list[str]:
    return [module.name for module in pkgutil.walk_packages(equieffort.__path__, "equieffort.")]


def run(*command: str, folder: str) -> str:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    if done.returncode not in (0, 1):
        raise SystemExit(f"{' '.join(command)} ended with {done.returncode}:\n{done.stdout}{done.stderr}")
    return done.stdout


def main() -> None:
    home = Path(equieffort.__file__).parent
    if not home.is_relative_to(sys.prefix):
        raise SystemExit(f"This is not the installed package but {home}.")
    # What libraries of another age deprecate is not for us to say.
    warnings.simplefilter("ignore", DeprecationWarning)
    names = modules()
    for name in names:
        importlib.import_module(name)
    for name in (*equieffort.__all__, *equieffort._NAMES):
        getattr(equieffort, name)
    command = Path(sys.executable).parent / "equieffort"
    with tempfile.TemporaryDirectory() as folder:
        asked = [run(str(command), "--version", folder=folder)]
        asked.append(run(sys.executable, "-I", "-m", "equieffort", "--version", folder=folder))
        if set(asked) != {f"equieffort {equieffort.__version__}\n"}:
            raise SystemExit(f"The command says {asked}, the package {equieffort.__version__}.")
        shown = run(str(command), "demo", "german", "-o", "german", folder=folder)
        made = equieffort.load(Path(folder) / "german.audit")
        if str(made.verdict) not in shown or not (Path(folder) / "german.html").is_file():
            raise SystemExit(f"The demo does not show what it saves:\n{shown}")
    print(f"equieffort {equieffort.__version__} in {home}: {len(names)} modules, the command and its demo work")


if __name__ == "__main__":
    main()
