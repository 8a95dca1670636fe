"""What is installed when, and how the command is started."""

from __future__ import annotations

import re
import runpy
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
        ["make", "-n", target, f"VENV={folder}"], cwd=ROOT, capture_output=True, text=True, check=True, timeout=600
    )
    return [line.split("constraints.txt")[1].strip() for line in done.stdout.splitlines() if "pip install" in line]


def test_an_audit_installs_the_package_alone_and_tests_add_the_rest(tmp_path):
    assert installed_by("audit", tmp_path / "none") == ["-e ."]
    assert installed_by("test", tmp_path / "none") == ["-e .", '-e ".[test,check]"']
    assert installed_by("check", tmp_path / "none") == ["-e .", '-e ".[test,check]"']


def test_the_package_is_a_command_as_well():
    done = subprocess.run(
        [sys.executable, "-m", "equieffort", "--version"], capture_output=True, text=True, timeout=600
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, f"equieffort {ee.__version__}\n", "")
    done = subprocess.run([sys.executable, "-m", "equieffort", "audti"], capture_output=True, text=True, timeout=600)
    assert done.returncode == 2
    assert "audti" in done.stderr
    assert "Traceback" not in done.stderr


LOWEST = runpy.run_path(str(ROOT / "tools" / "lowest.py"))


def test_the_lowest_versions_are_those_declared():
    """Row 80: `make lowest` installs exactly these."""
    floors = LOWEST["floors"]((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    declared = {re.split(">=", requirement)[0] for requirement in PROJECT["dependencies"]}
    assert declared | packages("all") | packages("xgboost-cpu") == set(floors)
    pins = (ROOT / "constraints.txt").read_text(encoding="utf-8")
    lines = LOWEST["constraints"]((ROOT / "pyproject.toml").read_text(encoding="utf-8"), pins).split()
    names = [line.split("==")[0].lower() for line in lines]
    assert len(set(names)) == len(names), "a library with two versions cannot be installed"
    assert {f"{name}=={version}" for name, version in floors.items()} <= set(lines)


@pytest.mark.parametrize(
    ("declared", "why"),
    [('["a"]', "'a' in pyproject.toml has no floor"), ('["a>=1", "A>=2"]', "a has two floors")],
)
def test_a_library_without_one_floor_is_refused(declared, why):
    with pytest.raises(SystemExit, match=why):
        LOWEST["floors"](f"[project]\ndependencies = {declared}\n[project.optional-dependencies]\n")


def test_no_floor_is_above_what_is_tested():
    from packaging.version import Version

    floors = LOWEST["floors"]((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    for pin in (ROOT / "constraints.txt").read_text(encoding="utf-8").split():
        name, version = pin.split("==")
        assert Version(version) >= Version(floors.get(LOWEST["plain"](name), "0")), pin


def test_make_lowest_runs_tests_that_exist():
    done = subprocess.run(["make", "-n", "lowest"], cwd=ROOT, capture_output=True, text=True, check=True, timeout=600)
    files = re.findall(r"tests/\S+", done.stdout)
    assert len(files) > 5
    assert [file for file in files if not (ROOT / file).exists()] == []
