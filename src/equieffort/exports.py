"""An audit for other programs: JSON, CSVs of recourse and of the measures, SARIF and JUnit for build servers.

Every export reads the audit and adds nothing to it. What is not defined is null in JSON and empty in CSV; what has no
limit is null in JSON and inf in CSV. Cells that a spreadsheet would take for a formula get a leading apostrophe;
numbers stay numbers.

Nothing is kept back here: `report.suppress_below` is about the HTML page and the model card, which are made to be
shared. Whoever shares an export shares the numbers of small groups too.

>>> neutral("=1+1"), neutral("-3"), neutral("flat"), neutral(-3.0)
("'=1+1", "'-3", 'flat', -3.0)
"""

from __future__ import annotations

import csv
import importlib.util
import io
import math
import re
from collections.abc import Iterator
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, TextIO
from xml.etree import ElementTree

import numpy as np
import pandas as pd

from equieffort.data.frames import number
from equieffort.data.lines import Cells, Different, as_list, joined
from equieffort.effort.verdict import REASONS, Assessment, Finding, Verdict
from equieffort.errors import ParameterError
from equieffort.foundations.version import __version__
from equieffort.models.fidelity import Refusals, Surrogate
from equieffort.recourse.status import Infeasibility, Reason, Status, Termination
from equieffort.recourse.table import RecourseTable
from equieffort.results.audits import Audit
from equieffort.words.shown import caveats

AT_ONCE = 20_000
"""Rows of a table that are made at once, so that memory stays bounded."""
FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")
"""What makes a spreadsheet run a cell; the last four are the full-width forms that some accept too."""

SUMMARY_VERSION = 6
SHOWN = (
    "estimate", "low", "high", "least", "most", "assigned_least", "assigned_most", "p", "p_beyond", "p_within",
    "p_adjusted", "n", "n_against", "note",
)  # fmt: skip
SARIF_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
KINDS = {"equal": "pass", "unequal": "fail", "inconclusive": "open"}


def summary(audit: Audit) -> dict[str, Any]:
    """The audit in a form that JSON can hold: verdict, groups, subgroups, criteria, warnings, how it was made."""
    people, made = audit.recourse, audit.provenance
    return {
        "format": "equieffort-summary",
        "version": SUMMARY_VERSION,
        "verdict": _verdict(audit.verdict),
        "caveats": [
            {"code": one.code, "text": one.text} for one in caveats(audit.verdict, people, made.fit, made.guessed)
        ],
        "measures": records(audit.measures),
        "by_group": records(audit.system.groups.reset_index()),
        "budget": plain(audit.budget),
        "subgroups": {
            name: {
                "about": part.about,
                "verdict": _verdict(part.verdict),
                "by_group": records(part.groups.reset_index()),
            }
            for name, part in _subgroups(audit)
        },
        "assumed": {
            "limits": [plain(asdict(limit)) for limit in people.source.schema.assumed],
            "zero_one": list(people.source.schema.zero_one),
        },
        "max_actions": people.source.schema.max_actions,
        "surrogate": _surrogate(audit.verdict.surrogate),
        "obstacles": _counted(people, Infeasibility),
        "endings": _counted(people, Termination),
        "people": len(people),
        "unfavourable": sum(count for status, count in enumerate(people.counts) if status != Status.NOT_NEEDED),
        "criteria": audit.criteria.to_dict(),
        "warnings": [{"code": w.code, "what": w.what, "why": w.why, "fix": w.fix} for w in audit.warnings],
        "provenance": plain(_provenance(audit)),
        "versions": {"made_by": made.versions.get("equieffort"), "read_by": __version__},
    }


def _counted(table: RecourseTable, kind: type[Reason]) -> list[dict[str, Any]]:
    """What stands in people's way, or why nothing better is known, with how many people of each group; nobody's own
    numbers are in it. Somebody stopped by several limits is counted under each."""
    groups = dict.fromkeys(table.groups.labels, 0)
    found: dict[tuple[tuple[str, Any], ...], dict[str, int]] = {}
    for row, fact in enumerate(table.reasons()):
        if not isinstance(fact, kind):
            continue
        for said in dict.fromkeys(tuple(one.items()) for one in _shared(fact)):
            counts = found.setdefault(said, dict(groups))
            counts[table.groups.labels[table.groups.codes[row]]] += 1
    ranked = sorted(found.items(), key=lambda item: -sum(item[1].values()))
    return [dict(said) | {"people": counts} for said, counts in ranked]


def _shared(fact: Reason) -> list[dict[str, Any]]:
    """A fact without what is about one person."""
    if isinstance(fact, Termination):
        kept = ("kind", "found", "argument", "limit", "fault", "subject")
        return [{key: value for key, value in fact.to_dict().items() if key in kept}]
    own = ("fact", "stops_at")
    how = {"blocking": fact.blocking.value}
    each = [{key: value for key, value in one.to_dict().items() if key not in own} for one in fact.obstacles]
    return [how | one for one in each] or [how]


def _provenance(audit: Audit) -> dict[str, Any]:
    """How the audit was made; of recorded decisions and of those who left counts alone: single people are in the table
    of recourse.

    Details of notions are in the audit's file: `equieffort notions` prints them."""
    decided = audit.recorded
    counts = None if decided is None else {"by_group": decided.by_group(audit.recourse)}
    told = replace(audit.provenance, details=None).to_dict()
    beside = {"recorded": counts, "left": audit.provenance.left.count}
    return {name: part for name, part in told.items() if name != "details"} | beside


def recourse_csv(audit: Audit) -> str:
    """One line a person: label, group, status, cost, bound, do_*, delta_*, outside_limits, reason.

    Beside a surrogate `recorded` says what was decided according to the data.
    """
    buffer = io.StringIO(newline="")
    write_recourse_csv(audit, buffer)
    return buffer.getvalue()


def write_recourse_csv(audit: Audit, file: TextIO) -> None:
    """The same into a file opened with newline="", some people after the other."""
    for start in range(0, max(len(audit.recourse), 1), AT_ONCE):
        frame = recourse_frame(audit, slice(start, start + AT_ONCE))
        frame.index.name = _free("id" if frame.index.name is None else str(frame.index.name), frame)
        _write_csv(frame.reset_index(), file, header=start == 0)


def measures_csv(audit: Audit) -> str:
    """One line a comparison and measure, as in `audit.measures`: at system level and in every declared subgroup."""
    return csv_text(audit.measures)


def csv_text(frame: pd.DataFrame) -> str:
    """A table with nothing that a spreadsheet would run."""
    buffer = io.StringIO(newline="")
    _write_csv(frame, buffer)
    return buffer.getvalue()


def _write_csv(frame: pd.DataFrame, file: TextIO, *, header: bool = True) -> None:
    # The standard's line end; with it a lone carriage return in a cell is quoted too, and cannot begin a line.
    writer = csv.writer(file, lineterminator="\r\n")
    if header:
        writer.writerow([neutral(str(name)) for name in frame.columns])
    for start in range(0, len(frame), AT_ONCE):
        part = frame.iloc[start : start + AT_ONCE]
        cells = [_cells(part.iloc[:, k]) for k in range(part.shape[1])]
        text = joined(cells)
        if text is None:
            writer.writerows(zip(*map(as_list, cells), strict=True))
        else:
            file.write(text)


def _cells(column: pd.Series) -> Cells:
    """What is written of a column: nothing where it is missing, different texts looked at once."""
    values = column.to_numpy()
    if values.dtype == np.float64:
        return np.asarray(values + 0.0)  # no "-0.0" for a feature that is held
    if values.dtype.kind in "iub":
        return np.asarray(values)
    if values.dtype.kind != "O" or pd.api.types.is_numeric_dtype(column.dtype):
        # Dates and other types as pandas writes them.
        text = column.to_csv(index=False, header=False, lineterminator="\n")
        return [neutral(cell[0] if cell else "") for cell in csv.reader(io.StringIO(text, newline=""))]
    if pd.api.types.infer_dtype(values, skipna=True) != "string":
        return [None if gone else neutral(cell) for cell, gone in zip(values, pd.isna(values), strict=True)]
    codes, different = pd.factorize(values)
    return Different(codes, [*map(neutral, different.tolist()), None])


def recourse_frame(audit: Audit, rows: slice = slice(None)) -> pd.DataFrame:
    """People's recourse, for an audit of a surrogate with the recorded decisions beside the status."""
    frame = audit.recourse.part(rows)
    if (decided := audit.recorded) is not None:
        words = decided.words[rows]
        frame.insert(list(frame.columns).index("status") + 1, _free("recorded", frame), words)
    return frame


def _free(name: str, frame: pd.DataFrame) -> str:
    """The name, with as many underscores as make it no column's."""
    while name in frame.columns:
        name = f"{name}_"
    return name


def neutral(cell: Any) -> Any:
    """A cell that no spreadsheet runs: text that starts like a formula gets a leading apostrophe."""
    return f"'{cell}" if isinstance(cell, str) and cell.startswith(FORMULA) else cell


def sarif(audit: Audit, name: str) -> dict[str, Any]:
    """SARIF 2.1.0: a result a comparison, with the audit file as the place."""
    findings = list(_findings(audit))
    used = list(dict.fromkeys(code for _, finding in findings for code in finding.codes))
    rules = [{"id": code, "shortDescription": {"text": REASONS[code]}} for code in used]
    results = [
        {
            "ruleId": finding.codes[0],
            "ruleIndex": used.index(finding.codes[0]),
            "kind": KINDS[finding.outcome],
            # The standard asks for "none" wherever the kind is not "fail".
            "level": "error" if finding.outcome == "unequal" else "none",
            "message": {"text": _message(f"{about}: {finding.sentence}")},
            "locations": [{"physicalLocation": {"artifactLocation": {"uri": _uri(name)}}}],
            "partialFingerprints": {"comparison/v1": f"{about}/{finding.comparison.group}"},
            "properties": {"codes": list(finding.codes), **_numbers(finding)},
        }
        for about, finding in findings
    ]
    notes = [
        {"level": "warning", "message": {"text": _message(w.what)}, "descriptor": {"id": w.code}}
        for w in audit.warnings
    ]
    return {
        "$schema": SARIF_SCHEMA,
        "version": "2.1.0",
        "runs": [
            {
                "tool": {"driver": {"name": "equieffort", "version": __version__, "rules": rules}},
                "invocations": [{"executionSuccessful": True, "toolExecutionNotifications": notes}],
                "results": results,
            }
        ],
    }


def junit(audit: Audit, name: str) -> str:
    """JUnit XML: a test case a comparison; unequal is a failure, inconclusive is skipped.

    Jenkins' schema knows no properties of a case, so the judged measures with their intervals are its output.
    """
    findings = list(_findings(audit))
    counts = {kind: sum(f.outcome == kind for _, f in findings) for kind in KINDS}
    totals = {"tests": str(len(findings)), "failures": str(counts["unequal"]), "errors": "0"}
    root = ElementTree.Element("testsuites", {"name": "equieffort", **totals})
    # Only a suite may count what was skipped.
    counted = {"name": _xml(name), **totals, "skipped": str(counts["inconclusive"])}
    suite = ElementTree.SubElement(root, "testsuite", counted)
    for about, finding in findings:
        title = finding.comparison.title
        case = ElementTree.SubElement(suite, "testcase", {"classname": _xml(about), "name": _xml(title)})
        if finding.outcome == "unequal":
            failure = {"message": _xml(finding.sentence), "type": " ".join(finding.codes)}
            ElementTree.SubElement(case, "failure", failure).text = _xml(finding.sentence)
        elif finding.outcome == "inconclusive":
            ElementTree.SubElement(case, "skipped", {"message": _xml(finding.sentence)})
        told = [finding.sentence] if finding.outcome == "equal" else []
        ElementTree.SubElement(case, "system-out").text = _xml("\n".join([*told, _numbers_text(finding)]))
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def records(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """A table as JSON can hold it: a mapping a row."""
    return [plain(row) for row in frame.to_dict("records")]


def plain(value: Any) -> Any:
    """Python's own types only; numbers that JSON does not know become null."""
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [plain(item) for item in value]
    if isinstance(value, np.generic):
        return plain(value.item())
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if value is None or isinstance(value, str | int) else str(value)


def _surrogate(found: Surrogate | None) -> dict[str, Any] | None:
    """Whether a surrogate suffices, and how it decides about people it was not trained on."""
    if found is None:
        return None
    return plain(
        {
            "kind": found.kind,
            "suffices": found.suffices,
            "min_agreement": found.required,
            "min_refusal_recall": found.min_refusal_recall,
            "everybody": None if found.refusals is None else _refusals(found.refusals),
            "by_group": {label: _refusals(counts) for label, counts in found.refusals_by_group.items()},
        }
    )


def _refusals(found: Refusals) -> dict[str, Any]:
    """Counts and shares, beside the best answer that is the same for everybody."""
    best = found.constant
    answer = "refuse everybody" if best.by_surrogate else "approve everybody"
    return asdict(found) | _shares(found) | {"best_constant": {"answer": answer} | _shares(best)}


def _shares(found: Refusals) -> dict[str, float]:
    return {"agreement": found.agreement, "refusal_recall": found.recall, "refusal_precision": found.precision}


def _verdict(verdict: Verdict) -> dict[str, Any]:
    return {
        "outcome": verdict.outcome,
        "codes": list(verdict.codes),
        "basis": verdict.basis,
        "chance": verdict.chance,
        "headline": verdict.headline,
        "text": str(verdict),
        "findings": [
            {
                "group": finding.comparison.group,
                "against": finding.comparison.against,
                "outcome": finding.outcome,
                "codes": list(finding.codes),
                "sentence": finding.sentence,
                **_numbers(finding),
            }
            for finding in verdict.findings
        ],
    }


def _numbers(finding: Finding) -> dict[str, Any]:
    """The judged measures with their intervals, and what the group's own numbers are."""
    compared = finding.comparison
    found = {
        one.measure: {"state": one.state, **{key: getattr(one.reading, key) for key in SHOWN}} for one in finding.judged
    }
    return plain({"judged": found, "phi": compared.mine.phi, "rho": compared.mine.rho})


def _numbers_text(finding: Finding) -> str:
    """The same in lines, for a format that holds text alone."""
    lines = []
    for name, found in _numbers(finding)["judged"].items():
        shown = (f"{key}={'' if value is None else value}" for key, value in found.items())
        lines.append(f"{name}: {' '.join(shown)}")
    return "\n".join(lines)


def _subgroups(audit: Audit) -> Iterator[tuple[str, Assessment]]:
    for name, rule in audit.declared.items():
        yield name, audit.subgroup(rule)


def _findings(audit: Audit) -> Iterator[tuple[str, Finding]]:
    for finding in audit.verdict.findings:
        yield audit.system.about, finding
    for name, part in _subgroups(audit):
        for finding in part.verdict.findings:
            yield f"{name} ({part.about})", finding


def _uri(name: str) -> str:
    """Where the audit file is; a path from the root cannot be put behind another place, so it says that it is one."""
    from urllib.parse import quote

    path = quote(name.replace("\\", "/"))
    return f"file://{path}" if path.startswith("/") else path


def _message(text: str) -> str:
    """Text that SARIF shows as it is: braces would hold an argument, and brackets before a parenthesis are a link."""
    return text.replace("{", "{{").replace("}", "}}").replace("](", "\\](")


_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")


def _xml(text: str) -> str:
    """Text without the characters that XML cannot hold."""
    return _CONTROL.sub("\N{REPLACEMENT CHARACTER}", text)


def text_table(frame: pd.DataFrame) -> str:
    """A table for a terminal."""
    return frame.to_string(index=False, float_format=lambda value: number(round(value, 4)), na_rep="-")


def need(package: str, what: str, fix: str) -> None:
    """Refuse before any work what a package is missing for."""
    if importlib.util.find_spec(package) is None:
        raise ParameterError("OPTIONAL_DEPENDENCY", what, fix=fix)


def need_parquet() -> None:
    """Refuse before any work if Parquet cannot be written."""
    fix = "Run pip install 'equieffort[parquet]', or take the CSV."
    need("pyarrow", "Writing Parquet needs the package pyarrow.", fix)


def recourse_parquet(audit: Audit, path: Path) -> None:
    """The recourse table as Parquet, with the people's labels as its first column."""
    table = recourse_frame(audit)
    table.insert(0, table.index.name or "person", table.index.astype(str))
    table.to_parquet(path, index=False, engine="pyarrow")
