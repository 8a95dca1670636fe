"""How long `equieffort --help` thinks: CPU of the process, and as a ratio to starting Python and to `import pandas`.

Run with `python benchmarks/command_line.py`.
"""

from __future__ import annotations

import subprocess
import sys

TIMES = 5
HELP = """
import sys
sys.argv = ["equieffort", {options}]
from equieffort.cli import main
try:
    main()
except SystemExit:
    pass
"""


def cpu(code: str) -> float:
    """Seconds of CPU of a fresh interpreter, the least of several runs."""
    probe = f"{code}\nimport sys, time; print(time.process_time(), file=sys.stderr)"
    runs = [
        subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, check=True) for _ in range(TIMES)
    ]
    return min(float(run.stderr.split()[-1]) for run in runs)


def main() -> None:
    python, pandas = cpu("pass"), cpu("import pandas")
    for options in ("'--help'", "'audit', '--help'"):
        seconds = cpu(HELP.format(options=options))
        shown = f"equieffort {options}".replace("'", "").replace(",", "")
        print(
            f"{shown:<30} {seconds:6.3f} s of CPU   {seconds / python:5.1f} times starting Python   "
            f"{seconds / pandas:5.2f} times importing pandas   aim: under 0.4 s"
        )


if __name__ == "__main__":
    main()
