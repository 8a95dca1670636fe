"""Letters as files: names that any system takes, nothing overwritten unless asked, an index beside them."""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Callable, Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from equieffort.data.regular import is_dir, written_aside
from equieffort.errors import ParameterError, Setting, many, sentence, warn
from equieffort.exports import csv_text
from equieffort.foundations.arguments import check_choice, check_flag, check_path
from equieffort.foundations.progress import Watched, watcher
from equieffort.letters.facts import Letter, kinds_first, letter_of
from equieffort.letters.pages import FORMATS, Format, Pages, form_of
from equieffort.recourse.table import RecourseTable
from equieffort.results.explanation import explain
from equieffort.results.provenance import LetterTexts
from equieffort.words.letters import ANSWERS, NONE_TO_SEND

if TYPE_CHECKING:
    from equieffort.results.audits import Audit

Further = Sequence[tuple[RecourseTable, int]]
"""A person's ways beyond the first: a table and a row each."""
LONGEST = 120
"""Bytes of a name, without its ending: every file system takes as many."""
LISTED = 5_000
"""So many letters the index page lists; the table beside it has all."""
TAKEN = frozenset({"index", "con", "prn", "aux", "nul", *(f"{port}{n}" for port in ("com", "lpt") for n in range(10))})
"""Names that are the index's own, or that Windows keeps to itself."""


def file_names(labels: Sequence[str]) -> list[str]:
    """A name for the file of each label: letters, digits, dashes and underscores, no two alike in any case.

    >>> file_names(["A/1", "a 1", "../x", "NUL", "Zoë", "", "A-1-2"])
    ['A-1', 'a-1-2', 'x', 'person-NUL', 'Zoë', 'person', 'A-1-2-2']
    """
    used: set[str] = set()
    seen: Counter[str] = Counter()
    found = []
    for text in labels:
        stem = _stem(text)
        name = stem
        while name.casefold() in used:
            seen[stem.casefold()] += 1
            name = f"{stem}-{seen[stem.casefold()] + 1}"
        used.add(name.casefold())
        found.append(name)
    return found


def _stem(text: str) -> str:
    plain = unicodedata.normalize("NFKC", text)
    words = "".join(one if one.isalnum() or one == "_" else " " for one in plain).split()
    # Some letters grow when they are made alike, so the cut comes last; a half letter at its end is dropped.
    stem = "-".join(words).encode()[:LONGEST].decode(errors="ignore").strip("-")
    return stem if stem and stem.casefold() not in TAKEN else f"person-{stem}".strip("-")


def write_letters(
    audit: Audit,
    folder: str | PathLike[str],
    further: Callable[[int], Further],
    *,
    form: Format | None = None,
    template: str | PathLike[str] | None = None,
    rows: Sequence[int] | None = None,
    texts: LetterTexts | None = None,
    overwrite: bool = False,
    progress: Watched = None,
) -> pd.DataFrame:
    """Write a letter to each of these refused people, an index page and a table; gives the table.

    `further` gives a person's ways beyond the first.
    """
    out, own = _checked(folder, template, overwrite)
    check_choice("format", form := form or form_of(own), FORMATS)
    pages, tell = Pages.of(form, own), watcher(progress)
    rows = np.flatnonzero(audit.recourse.is_unfavourable).tolist() if rows is None else list(rows)
    writer = _Writer(audit, further, texts or audit.provenance.letters)
    # Each kind once before anything is written: a template that fails should fail now.
    for row in kinds_first(audit.recourse, rows):
        pages.letter(writer.letter(row))
    names = [f"{name}.{form}" for name in file_names([str(audit.recourse.index[row]) for row in rows])]
    strange = _made(out, {*names, f"index.{form}", "index.csv"})
    listed: list[dict[str, Any]] = []
    for n, (row, name) in enumerate(zip(rows, names, strict=True), start=1):
        letter = writer.letter(row)
        _write(out / name, pages.letter(letter))
        listed.append({"person": letter.person, "answer": letter.answer, "routes": len(letter.routes), "file": name})
        if tell is not None:
            tell("writing letters", n, len(rows))
    found = pd.DataFrame(listed, columns=["person", "answer", "routes", "file"])
    counts = [(ANSWERS[answer], int((found["answer"] == answer).sum())) for answer in ANSWERS]
    shown = [one | {"answer": ANSWERS[one["answer"]]} for one in listed[:LISTED]]
    title, warning = audit.provenance.title, NONE_TO_SEND if audit.provenance.surrogate is not None else ""
    index = pages.index(title=title, people=shown, counts=counts, total=len(listed), warning=warning)
    _write(out / f"index.{form}", index)
    _write(out / "index.csv", csv_text(found))
    if strange:
        warn(
            "OUTPUT",
            f"The folder {str(out)!r} holds {many(strange, 'file', 'files')} that this run did not write.",
            fix="They may be letters of an earlier audit: look before anything is sent.",
        )
    return found


class _Writer:
    """Makes letters one by one; what is the same for everybody is made once."""

    def __init__(self, audit: Audit, further: Callable[[int], Further], texts: LetterTexts) -> None:
        surrogate = audit.provenance.surrogate
        self.further, self.texts = further, texts
        self.table = audit.recourse
        self.kind, self.recorded = "" if surrogate is None else surrogate.kind, audit.recorded

    def letter(self, row: int) -> Letter:
        """The letter to one person."""
        found = explain(self.table, row, self.kind, self.recorded, self.further(row), "letter")
        return letter_of(self.table, row, found, self.texts)


def _checked(folder: Any, template: Any, overwrite: Any) -> tuple[Path, Path | None]:
    """The folder and the template, looked at before any work."""
    check_path("folder", folder, "the path of a folder", code="OUTPUT")
    check_flag("overwrite", overwrite)
    out = Path(folder)
    if out.exists() and not is_dir(out):
        raise ParameterError("OUTPUT", f"{str(out)!r} is a file.", fix="Give a folder, which is made if need be.")
    if is_dir(out) and any(out.iterdir()) and not overwrite:
        raise ParameterError(
            "OUTPUT",
            f"The folder {str(out)!r} is not empty.",
            fix=("Give a new one; or replace letters of the same names with ", Setting("overwrite"), "."),
        )
    if not is_dir(out.resolve().parent):
        raise ParameterError("OUTPUT", f"The folder {str(out.parent)!r} does not exist.", fix="Create it first.")
    if template is None:
        return out, None
    check_path("template", template, "the path of a template", code="LETTER_TEMPLATE")
    return out, Path(template)


def _made(out: Path, mine: set[str]) -> int:
    """Make the folder; how many files are in it that will not be replaced."""
    try:
        out.mkdir(exist_ok=True)
        return sum(one.name not in mine for one in out.iterdir())
    except OSError as error:
        raise ParameterError(
            "OUTPUT",
            f"The folder {str(out)!r} cannot be made: {sentence(error.strerror or error)}",
            fix="Write elsewhere.",
        ) from error


def _write(path: Path, text: str) -> None:
    with written_aside(path, "Make room or write elsewhere, and try again.", ParameterError) as partial:
        partial.write_text(text, encoding="utf-8", newline="")
