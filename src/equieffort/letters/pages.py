"""From letters to pages: our template or the user's own, which is run in a sandbox and sees nothing but the letter."""

from __future__ import annotations

import re
import traceback
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from markupsafe import Markup

from equieffort.data.regular import read_regular
from equieffort.errors import ParameterError, Setting, sentence
from equieffort.letters.facts import Letter
from equieffort.report.page import resource
from equieffort.report.words import clean
from equieffort.words.letters import EXPECTED

if TYPE_CHECKING:
    from jinja2 import Template

Format = Literal["html", "md"]
FORMATS: tuple[Format, ...] = ("html", "md")
MOST_BYTES = 1_000_000
"""Of a template."""
PLACE = "<template>"
"""What jinja2 calls a template that has no file; frames of its own code bear it."""
_MARKS = re.compile(r"([\\`*_{}\[\]<>#|~$^&])")
_STARTS = re.compile(r"^(\d+)([.)])(?=\s|$)|^([-+=])(?=[-+=\s]|$)")


def default_template(form: Format = "html") -> str:
    """The template that letters are written with, to start one of your own from."""
    return files("equieffort.letters").joinpath(f"letter.{form}").read_text(encoding="utf-8")


def form_of(path: Path | None) -> Format:
    """What a template writes, by its ending."""
    return "md" if path is not None and path.suffix.lower() in (".md", ".markdown") else "html"


@dataclass(frozen=True)
class Pages:
    """Writes letters and their index in one format."""

    form: Format
    letter_template: Template
    index_template: Template
    name: str
    """Of the user's template, for whoever reads an error; empty of ours."""

    @classmethod
    def of(cls, form: Format, template: Path | None) -> Pages:
        """With a template of the user's own, if there is one."""
        from jinja2 import DictLoader, StrictUndefined, TemplateSyntaxError
        from jinja2.sandbox import ImmutableSandboxedEnvironment

        here = files("equieffort.letters")
        ours = {f"letter.{form}": default_template(form)}
        environment = ImmutableSandboxedEnvironment(
            autoescape=form == "html", trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True,
            undefined=StrictUndefined, loader=DictLoader(ours), finalize=None if form == "html" else markdown,
        )  # fmt: skip
        environment.globals["expected"] = EXPECTED
        look = resource("colours.css") + here.joinpath("letter.css").read_text(encoding="utf-8")
        environment.globals["style"] = Markup(look)
        index = environment.from_string(here.joinpath(f"index.{form}").read_text(encoding="utf-8"))
        if template is None:
            return cls(form, environment.get_template(f"letter.{form}"), index, "")
        source = _read(template)
        try:
            return cls(form, environment.from_string(source), index, template.name)
        except TemplateSyntaxError as error:
            raise _refused(template.name, error.lineno, error.message or "it cannot be read") from error

    def letter(self, letter: Letter) -> str:
        """One letter as a page."""
        if not self.name:
            return clean(self.letter_template.render(letter=letter))
        try:
            return clean(self.letter_template.render(letter=letter))
        except Exception as error:
            # Whatever a template of somebody else's does, it is told by its line.
            raise _refused(self.name, _line(error), sentence(error), letter.person) from error

    def index(self, **facts: Any) -> str:
        """The page that lists the letters."""
        return clean(self.index_template.render(**facts))


def markdown(value: Any) -> Any:
    r"""A value as text of a Markdown page, whatever it holds.

    >>> print(markdown("<b>*x*</b> | y"), markdown("1. first"), markdown(Markup("*own*")))
    \<b\>\*x\*\</b\> \| y 1\. first *own*
    """
    if isinstance(value, Markup):
        return value
    line = _MARKS.sub(r"\\\1", " ".join(str(value).split()))
    return _STARTS.sub(lambda m: f"{m[1]}\\{m[2]}" if m[1] else f"\\{m[3]}", line)


def _read(path: Path) -> str:
    try:
        return read_regular(path, MOST_BYTES).decode("utf-8-sig")
    except OSError as error:
        why = error.strerror or str(error)
    except UnicodeDecodeError:
        why = "it is not UTF-8"
    raise ParameterError(
        "LETTER_TEMPLATE",
        f"The template {str(path)!r} cannot be read: {sentence(why)}",
        fix=("Check the path; ", Setting("default template"), " writes a template to start from."),
    )


def _line(error: BaseException) -> int | None:
    """The line of the template that was at work when the error came."""
    own = getattr(error, "lineno", None)
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == PLACE]
    return own if isinstance(own, int) else lines[-1] if lines else None


def _refused(name: str, line: int | None, why: str, person: str = "") -> ParameterError:
    where = f"{name}, line {line}" if line else name
    met = f" (met in the letter to {person!r})" if person else ""
    return ParameterError(
        "LETTER_TEMPLATE",
        f"{where}{met}: {sentence(why)}",
        fix="Correct the template; docs/letters.md lists what a template can show.",
    )
