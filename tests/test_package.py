"""What is published: the wheel, the source, and the page that PyPI makes of them."""

from __future__ import annotations

import email
import re
import runpy
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from email.message import Message
from pathlib import Path

import pytest
from readme_renderer import markdown
from trove_classifiers import classifiers

ROOT = Path(__file__).parents[1]
as_pypi_shows_it = runpy.run_path(str(ROOT / "tools" / "pypi_readme.py"))["as_pypi_shows_it"]


@pytest.fixture(scope="module")
def built(tmp_path_factory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "hatchling", "build", "-d", str(folder)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True, timeout=600)
    return {path.suffix: path for path in folder.iterdir()}


@pytest.fixture(scope="module")
def wheel(built) -> zipfile.ZipFile:
    with zipfile.ZipFile(built[".whl"]) as archive:
        yield archive


@pytest.fixture(scope="module")
def metadata(wheel) -> Message:
    (name,) = (name for name in wheel.namelist() if name.endswith(".dist-info/METADATA"))
    return email.message_from_string(wheel.read(name).decode("utf-8"))


def package_files() -> set[str]:
    """Every file of the package that is part of the repository, as a wheel names it."""
    files = (path for path in (ROOT / "src" / "equieffort").rglob("*") if path.is_file())
    return {path.relative_to(ROOT / "src").as_posix() for path in files if "__pycache__" not in path.parts}


def test_the_wheel_is_the_package_and_nothing_else(wheel):
    inside = {name for name in wheel.namelist() if ".dist-info/" not in name}
    assert inside == package_files()
    assert {
        "equieffort/py.typed",
        "equieffort/datasets/data/german.csv",
        "equieffort/datasets/data/adult.csv.xz",
        "equieffort/paper/data/points.csv",
        "equieffort/report/template.html",
    } <= inside


def test_the_wheel_brings_its_licence_and_those_of_its_data(wheel):
    (licence,) = (name for name in wheel.namelist() if name.endswith("/licenses/LICENSE"))
    assert wheel.read(licence).decode("utf-8") == (ROOT / "LICENSE").read_text(encoding="utf-8")
    assert "creativecommons.org/licenses/by/4.0" in wheel.read("equieffort/datasets/data/README.md").decode("utf-8")


def test_the_source_can_be_built_and_tested_by_itself(built):
    with tarfile.open(built[".gz"]) as archive:
        names = {name.split("/", 1)[1] for name in archive.getnames() if "/" in name}
    assert {f"src/{name}" for name in package_files()} <= names
    assert {"README.md", "LICENSE", "pyproject.toml", "constraints.txt", "Makefile", "tools/pypi_readme.py"} <= names
    assert {path.relative_to(ROOT).as_posix() for path in (ROOT / "tests").rglob("test_*.py")} <= names


def test_classifiers_are_ones_that_pypi_knows(metadata):
    given = metadata.get_all("Classifier")
    assert given
    assert set(given) <= classifiers
    assert metadata["License-Expression"] == "MIT"


def test_addresses_are_absolute_and_their_labels_fit(metadata):
    urls = [entry.split(", ", 1) for entry in metadata.get_all("Project-URL")]
    assert urls
    assert all(len(label) <= 32 and address.startswith("https://") for label, address in urls)
    assert len({label.lower() for label, _ in urls}) == len(urls)


def references(text: str) -> list[str]:
    page = markdown.render(text)
    assert page is not None, "PyPI would refuse it"
    return re.findall(r'(?:href|src)="([^"]*)"', page)


def test_the_page_on_pypi_has_no_link_that_leads_nowhere(metadata):
    assert metadata["Description-Content-Type"] == "text/markdown"
    text = metadata.get_payload()
    assert "# equieffort" in text
    assert [target for target in references(text) if not target.startswith(("https://", "#"))] == []
    # What is not linked is still named, and no words are lost.
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    for path in re.findall(r"(?<!!)\[[^\]]*\]\(([^):#]+)\)", readme):
        assert path in text
    assert text.count("```") == readme.count("```")


def test_with_an_address_links_and_pictures_become_absolute():
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    relative = [target for target in references(readme) if not target.startswith(("https://", "#"))]
    assert len(relative) > 10
    text = as_pypi_shows_it(readme, "https://example.org/file/{path}", "https://example.org/raw/{path}")
    found = references(text)
    for target in relative:
        kind = "raw" if target.endswith(".png") else "file"
        assert f"https://example.org/{kind}/{target}" in found
    assert [target for target in found if not target.startswith(("https://", "#"))] == []


@pytest.mark.parametrize(
    ("text", "without", "with_address"),
    [
        ("see [docs/a.md](docs/a.md).", "see `docs/a.md`.", "see [docs/a.md](https://x.org/docs/a.md)."),
        ("see [the page](docs/a.md)", "see the page (`docs/a.md`)", "see [the page](https://x.org/docs/a.md)"),
        ("a\n\n![p](b.png)\n\nc", "a\n\nc", "a\n\n![p](https://x.org/b.png)\n\nc"),
        ("[there](https://arxiv.org/abs/1) and [above](#a)", None, None),
    ],
)
def test_relative_links_alone_are_changed(text, without, with_address):
    assert as_pypi_shows_it(text) == (without or text)
    assert as_pypi_shows_it(text, "https://x.org/{path}", "https://x.org/{path}") == (with_address or text)


def test_the_version_is_the_same_everywhere(metadata):
    import equieffort

    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    cited = re.search(r"^version: (.+)$", (ROOT / "CITATION.cff").read_text(encoding="utf-8"), re.MULTILINE)
    assert cited is not None
    assert metadata["Version"] == project["version"] == equieffort.__version__ == cited[1]
