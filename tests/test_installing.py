"""What is installed when, and how the command is started."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import equieffort as ee

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
EXTRAS: dict[str, list[str]] = PROJECT["optional-dependencies"]
FOR_DEVELOPERS = {"test", "check"}


def packages(extra: str, system: str = "linux") -> set[str]:
    """The packages an extra asks for on a system, those of the extras it names included."""
    found = set()
    for requirement in EXTRAS[extra]:
        own = re.fullmatch(r"equieffort\[(.+)\]", requirement)
        if own is not None:
            found |= set().union(*(packages(name, system) for name in own[1].split(",")))
            continue
        wanted, _, where = requirement.partition(";")
        if not where or eval(where, {"sys_platform": system}):  # noqa: S307 our own file
            found.add(re.split(r"[<>=!~ ]", wanted.strip())[0])
    return found


@pytest.mark.parametrize("system", ["linux", "darwin", "win32"])
def test_no_extra_installs_two_kinds_of_xgboost(system):
    assert packages("xgboost", system) == {"xgboost"}
    assert packages("xgboost-cpu", system) == {"xgboost" if system == "darwin" else "xgboost-cpu"}
    for extra in EXTRAS:
        assert len(packages(extra, system) & {"xgboost", "xgboost-cpu"}) <= 1, extra


def test_all_is_every_extra_for_people():
    people = set(EXTRAS) - FOR_DEVELOPERS - {"all", "xgboost-cpu"}
    assert packages("all") == set().union(*map(packages, people))


def test_every_extra_for_people_is_in_the_readme():
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert [extra for extra in set(EXTRAS) - FOR_DEVELOPERS if f".[{extra}]" not in readme] == []


def test_every_extra_that_a_message_names_exists():
    source = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "src").rglob("*.py"))
    named = set(re.findall(r"pip install '(?:equieffort|\.)\[([\w-]+)\]", source))
    assert named
    assert named <= set(EXTRAS)


def installed_by(target: str, folder: Path) -> list[str]:
    """What `make` would install into an empty folder for a target."""
    done = subprocess.run(
        ["make", "-n", target, f"VENV={folder}"], cwd=ROOT, capture_output=True, text=True, check=True, timeout=60
    )
    return [line.split("constraints.txt")[1].strip() for line in done.stdout.splitlines() if "pip install" in line]


def test_an_audit_installs_the_package_alone_and_tests_add_the_rest(tmp_path):
    assert installed_by("audit", tmp_path / "none") == ["-e ."]
    assert installed_by("test", tmp_path / "none") == ["-e .", '-e ".[test,check]"']
    assert installed_by("check", tmp_path / "none") == ["-e .", '-e ".[test,check]"']


def test_the_package_is_a_command_as_well():
    done = subprocess.run([sys.executable, "-m", "equieffort", "--version"], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (0, f"equieffort {ee.__version__}\n", "")
    done = subprocess.run([sys.executable, "-m", "equieffort", "audti"], capture_output=True, text=True, timeout=60)
    assert done.returncode == 2
    assert "audti" in done.stderr
    assert "Traceback" not in done.stderr
