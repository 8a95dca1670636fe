"""Memory that was freed goes back to the system."""

from __future__ import annotations

import platform
import subprocess
import sys

import pytest

FREED = """
import gc
from equieffort.foundations.memory import give_back

def held():
    return int(open("/proc/self/statm").read().split()[1]) * 4096 / 2**20

# Many small pieces: what stands between them keeps the rest from going back by itself.
pieces = [bytes(4000) for _ in range(50_000)]
kept = pieces[::12]
del pieces
gc.collect()
before = held()
give_back()
print(before - held())
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="only glibc gives back")
def test_what_was_freed_between_what_is_needed_goes_back():
    done = subprocess.run([sys.executable, "-c", FREED], capture_output=True, text=True, check=True)
    assert float(done.stdout) > 50
