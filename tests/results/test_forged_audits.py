"""Audit files that somebody forged, or that were damaged, are refused before anything is computed from them."""

from __future__ import annotations

import io
import struct
import subprocess
import sys
import warnings
import zipfile
import zlib
from pathlib import Path

import numpy as np
import pytest
from tests.fuzz.worlds import Unwrapped, members, npy, read_all, small_audit, zipped

import equieffort as ee
from equieffort.effort.measures import Spread
from equieffort.errors import AuditFileError, EquieffortError, EquieffortWarning
from equieffort.foundations.saved import as_data
from equieffort.models.fidelity import Surrogate
from equieffort.recourse.status import Ending, Infeasibility, Status, Termination
from equieffort.results.audit_file import VERSION
from equieffort.results.resampling import Resampled

ACTING = (Status.OPTIMAL, Status.FEASIBLE)


@pytest.fixture(scope="module")
def saved(tmp_path_factory) -> bytes:
    path = tmp_path_factory.mktemp("forged") / "x.audit"
    small_audit().save(path)
    return path.read_bytes()


def put(name: str, value, *who: Status, column: int | str | None = None):
    """A forger who writes one number into an array, for the first person of a status."""

    def forge(opened: Unwrapped) -> None:
        row = opened.rows(*(who or Status))[0]
        array = opened.arrays[name]
        at = [c["name"] for c in opened.manifest["columns"]].index(column) if isinstance(column, str) else column
        array[row if at is None else (row, at)] = value
        if name == "facts":
            opened.rehash()

    return forge


def recast(name: str, kind: str):
    def forge(opened: Unwrapped) -> None:
        opened.arrays[name] = opened.arrays[name].astype(kind)

    return forge


def array(name: str, change):
    def forge(opened: Unwrapped) -> None:
        opened.arrays[name] = change(opened.arrays[name])

    return forge


def field(change):
    return lambda opened: change(opened.manifest)


def swap_groups(opened: Unwrapped) -> None:
    opened.arrays["codes"] = 1 - opened.arrays["codes"]


def rename_groups(opened: Unwrapped) -> None:
    opened.manifest["groups"]["labels"].reverse()


def swap_roles(opened: Unwrapped) -> None:
    opened.manifest["groups"] |= {"protected": [1], "reference": 0}


def move_one(opened: Unwrapped) -> None:
    opened.arrays["codes"][5] = 1 - opened.arrays["codes"][5]


def other_facts(opened: Unwrapped) -> None:
    opened.arrays["facts"][3, 1] += 1


def provenance(**fields):
    return field(lambda manifest: manifest["provenance"].update(fields))


def cost(**fields):
    return field(lambda manifest: manifest["provenance"]["cost"].update(fields))


def retold(who: Status, change):
    """A forger of what is said of the first person of a status."""

    def forge(opened: Unwrapped) -> None:
        row = str(opened.rows(who)[0])
        opened.manifest["reasons"][row] = change(opened.manifest["reasons"][row])

    return forge


def obstacle(**fields):
    """A forger of somebody's first obstacle."""
    return lambda fact: fact | {"obstacles": [fact["obstacles"][0] | fields]}


OWN: dict[str, object] = dict.fromkeys(("level", "about", "measure", "group", "against", "chance", "note"), "some")
OWN |= dict.fromkeys(("estimate", "low", "high", "least", "most", "assigned_least", "assigned_most"), 0.5)
OWN |= dict.fromkeys(("p", "p_beyond", "p_within", "p_adjusted"), 0.5)
OWN |= {"n": 3, "n_against": 4}
"""A row of a measure of the caller's own, as it may be."""

SURROGATE = as_data(Surrogate("logistic", 0.9, {"ash": 0.9}, required=0.8))
RESAMPLED = as_data(Resampled("people", 20, {("", "ash", "birch", "acr"): Spread(0.1, 20, 0)}))
NEAREST = ee.Nearest(0.3).to_dict()
"""As they may be."""

FORGED = {
    "codes far out of range": array("codes", lambda codes: codes + 30_000),
    "negative codes": array("codes", lambda codes: codes - 2),
    "swapped groups": swap_groups,
    "renamed groups": rename_groups,
    "swapped roles of groups": swap_roles,
    "one person in the other group": move_one,
    "status 99": put("status", 99),
    "negative status": put("status", -1),
    "negative cost": put("cost", -1.0, *ACTING),
    "no cost for an action": put("cost", np.nan, *ACTING),
    "infinite cost": put("cost", np.inf, *ACTING),
    "a cost without an action": put("cost", 1.0, Status.INFEASIBLE),
    "cost that is not the sum of its parts": put("cost", 1e-3, *ACTING),
    "negative part of a cost": put("costs", -0.5, *ACTING, column=0),
    "bound above the cost": put("bound", 1e6, *ACTING),
    "bound that is missing": put("bound", np.nan, *ACTING),
    "infinite bound of an action": put("bound", np.inf, Status.FEASIBLE),
    "finite bound of somebody infeasible": put("bound", 1.0, Status.INFEASIBLE),
    "infinite bound of somebody unknown": put("bound", np.inf, Status.UNKNOWN),
    "a bound for somebody who needs nothing": put("bound", 1.0, Status.NOT_NEEDED),
    "infeasible made optimal": put("status", Status.OPTIMAL, Status.INFEASIBLE),
    "optimal made infeasible": put("status", Status.INFEASIBLE, Status.OPTIMAL),
    "sets of more features than can be set": array(
        "intervention_mask", lambda sets: np.column_stack([sets, sets[:, 0]])
    ),
    "sets of fewer features than can be set": array("intervention_mask", lambda sets: sets[:, 1:]),
    "sets as bits": array("intervention_mask", lambda sets: sets @ (1 << np.arange(sets.shape[1]))),
    "sets as numbers": recast("intervention_mask", "i1"),
    "sets of flags beyond true": array("intervention_mask", lambda sets: (2 * sets.astype(np.uint8)).view(bool)),
    "set without an action": put("intervention_mask", True, Status.NOT_NEEDED, column=0),
    "level beyond the levels": put("level", 3, column=0),
    "level below none": put("level", -2, column=0),
    "level beyond the levels in the facts": put("facts", 9.0, column="job"),
    "half a level in the facts": put("facts", 0.5, column="job"),
    "infinite fact": put("facts", np.inf, column="savings"),
    "missing fact of somebody solved": put("facts", np.nan, *ACTING, column="savings"),
    "fraction in an integer column": put("facts", 0.5, column="income"),
    "level beyond the levels after the action": put("moved", 7.0, column="job"),
    "infinite counterfactual": put("moved", -np.inf, column="savings"),
    "missing counterfactual": put("moved", np.nan, *ACTING, column="savings"),
    "value that is not set": put("values", 12.0, *ACTING, column=0),
    "infinite change": put("delta", np.inf, *ACTING, column=0),
    "change that leads elsewhere": put("delta", 5.5, *ACTING, column=0),
    "code beyond the levels of an unused column": put("rest0", 40),
    "other facts than the hash says": other_facts,
    "facts as integers": recast("facts", "i8"),
    "cost in four bytes": recast("cost", "f4"),
    "status in eight bytes": recast("status", "i8"),
    "codes as floats": recast("codes", "f8"),
    "dates for codes": recast("codes", "M8[s]"),
    "complex costs": recast("cost", "c16"),
    "one person fewer": array("status", lambda status: status[:-1]),
    "a column more": array("facts", lambda facts: np.column_stack([facts, facts[:, 0]])),
    "a scalar": array("cost", lambda cost: cost[0]),
    "nobody": lambda opened: opened.arrays.update({name: one[:0] for name, one in opened.arrays.items()}),
    "missing array": lambda opened: opened.arrays.pop("moved"),
    "an array nobody knows": lambda opened: opened.arrays.update(extra=np.zeros(3)),
    "reason of a row that is not there": field(lambda m: m["reasons"].update({"4000": "none"})),
    "reason of a negative row": field(lambda m: m["reasons"].update({"-1": "none"})),
    "reason that is a sentence": field(lambda m: m["reasons"].update({next(iter(m["reasons"])): "none"})),
    "reason that is a number": field(lambda m: m["reasons"].update({next(iter(m["reasons"])): 5})),
    "reason for another status": retold(Status.INFEASIBLE, lambda fact: Termination(Ending.TIME).to_dict()),
    "obstacles of somebody unknown": retold(Status.UNKNOWN, lambda fact: Infeasibility().to_dict()),
    "obstacle of a feature that is not there": retold(Status.INFEASIBLE, obstacle(feature="wealth")),
    "obstacle of no kind": retold(Status.INFEASIBLE, obstacle(limit="law")),
    "obstacle on a third side": retold(Status.INFEASIBLE, obstacle(side=2)),
    "obstacle at no number": retold(Status.INFEASIBLE, obstacle(value=float("nan"))),
    "obstacle at text": retold(Status.INFEASIBLE, obstacle(stops_at="far")),
    "obstacle with a field more": retold(Status.INFEASIBLE, obstacle(run="x")),
    "obstacle by a rule that is not there": retold(Status.INFEASIBLE, obstacle(limit="rule", rule="income <= 1")),
    "obstacles that are no list": retold(Status.INFEASIBLE, lambda fact: fact | {"obstacles": {}}),
    "score that is needed without end": retold(Status.INFEASIBLE, lambda fact: fact | {"needed": float("inf")}),
    "ending of no kind": retold(Status.UNKNOWN, lambda fact: fact | {"kind": "fatigue"}),
    "negative bound of an ending": retold(Status.UNKNOWN, lambda fact: fact | {"bound": -1.0}),
    "fault without an action that has it": retold(Status.UNKNOWN, lambda fact: fact | {"fault": "cost"}),
    "missing value of somebody complete": retold(
        Status.UNKNOWN, lambda fact: Termination(Ending.MISSING_READ).to_dict()
    ),
    "column without limits that is not there": retold(Status.UNKNOWN, lambda fact: fact | {"subject": "wealth"}),
    "audience nobody knows": field(lambda m: m.update(audience="jury")),
    "equations that are sentences": provenance(equations=["savings = 2*income"]),
    "equation of no node": provenance(equations=[{"causes": [], "kind": None, "parts": {}, "text": ""}]),
    "seed that is none": field(lambda m: m["provenance"]["solver"].update(random_state="x")),
    "ceiling of a row that is not there": field(lambda m: m["ceilings"].update({"4000": 1.0})),
    "ceiling of somebody who is known": lambda o: o.manifest["ceilings"].update({str(o.rows(Status.OPTIMAL)[0]): 1.0}),
    "ceiling that is no number": field(lambda m: m["ceilings"].update({next(iter(m["ceilings"])): float("nan")})),
    "negative ceiling": field(lambda m: m["ceilings"].update({next(iter(m["ceilings"])): -1.0})),
    "group codes as text": field(lambda m: m["groups"].update(protected=["0"])),
    "protected beyond the groups": field(lambda m: m["groups"].update(protected=[5])),
    "reference beyond the groups": field(lambda m: m["groups"].update(reference=-1)),
    "reference that is protected": field(lambda m: m["groups"].update(reference=0)),
    "nobody protected": field(lambda m: m["groups"].update(protected=[])),
    "a group twice": field(lambda m: m["groups"].update(labels=["ash", "ash"])),
    "another kind of column": field(lambda m: m["columns"][0].update(kind="categorical", levels=[*range(99)])),
    "a level twice": field(lambda m: m["columns"][2].update(levels=["ash", "ash"])),
    "a list for a level": field(lambda m: m["columns"][2].update(levels=["ash", ["birch"]])),
    "a type for a column": field(lambda m: m["dtypes"].update(income="O")),
    "a column of no kind": field(lambda m: m["columns"][1].update(kind="complex")),
    "a column with a field more": field(lambda m: m["columns"][1].update(unit=2.0)),
    "a schema with a field more": field(lambda m: m["schema"].update(run="x")),
    "a schema without a role": field(lambda m: m["schema"]["features"]["income"].pop("role")),
    "a schema with a limit that is text": field(lambda m: m["schema"]["features"]["income"].update(upper="high")),
    "a schema with an observed end that is none": field(
        lambda m: m["schema"]["features"]["income"].update(observed=[0.0, float("inf")])
    ),
    "a schema whose rules are sentences": field(lambda m: m["schema"].update(rules=["income < 3"])),
    "groups with a field more": field(lambda m: m["groups"].update(codes=[0, 1])),
    "neighbours of a kind nobody knows": field(lambda m: m.update(neighbourhood={"kind": "radius"})),
    "neighbours within no share": field(lambda m: m.update(neighbourhood=NEAREST | {"quantile": 2.0})),
    "neighbours by a distance nobody knows": field(
        lambda m: m.update(neighbourhood=NEAREST | {"distance": NEAREST["distance"] | {"kind": "cosine"}})
    ),
    "neighbours by a scale nobody knows": field(
        lambda m: m.update(neighbourhood=NEAREST | {"distance": NEAREST["distance"] | {"scale": {"kind": "iqr"}}})
    ),
    "a distance with a field more": field(
        lambda m: m.update(neighbourhood=NEAREST | {"distance": NEAREST["distance"] | {"f": "print"}})
    ),
    "a column twice": field(lambda m: m["order"].append("income")),
    "no hash": field(lambda m: m.pop("data_sha256")),
    "a surrogate of odd parts": provenance(surrogate={"kind": 5, "odd": True}),
    "recorded decisions of rows that are not there": provenance(recorded={"differs": [4000], "unknown": []}),
    "recorded decisions that are no rows": provenance(recorded={"differs": ["x"], "unknown": []}),
    "prices that are none": cost(prices={"income": ["a", 0]}),
    "free prices": cost(prices={"income": [0.0, 0.0]}),
    "equations that are no sentences": provenance(equations=5),
    "a graph that is none": provenance(graph={"nodes": 5, "edges": "x"}),
    "a graph with a cycle": provenance(graph={"nodes": ["a", "b"], "edges": [["a", "b"], ["b", "a"]]}),
    "an edge from nowhere": provenance(graph={"nodes": ["a", "b"], "edges": [["c", "b"]]}),
    "a provenance with a field more": provenance(run="x"),
    "a provenance with a field less": field(lambda m: m["provenance"].pop("title")),
    "a provenance that is a list": field(lambda m: m.update(provenance=[])),
    "a fit that says nothing": provenance(fit=[{"node": "savings"}]),
    "percentiles without shares": cost(percentiles={"income": [[1.0], []]}),
    "a price above every number": cost(prices={"income": [float("inf"), 1.0]}),
    "a surrogate that agrees too often": provenance(surrogate=SURROGATE | {"agreement": 1.1}),
    "replicates of a chance nobody knows": provenance(resampled=RESAMPLED | {"chance": "luck"}),
    "replicates that are fewer than none": provenance(
        resampled=RESAMPLED | {"spreads": [[["", "ash", "birch", "acr"], {"sd": 1.0, "defined": -1, "undefined": 0}]]}
    ),
    "replicates of nothing that is named": provenance(
        resampled=RESAMPLED | {"spreads": [[["", "ash", "acr"], {"sd": 1.0, "defined": 9, "undefined": 0}]]}
    ),
    "a margin that is text": provenance(margin="wide"),
    "subgroups that are no rules": provenance(subgroups={"few": 5}),
    "a limit on small groups that is text": provenance(suppress_below="x"),
    "a budget below nothing": provenance(budget=-1.0),
    "a level that is no share": field(lambda m: m["criteria"].update(level=95)),
    "a measure judged that cannot be": field(lambda m: m["criteria"].update(judged=["needs_more"])),
    "a measure's row that is none": field(lambda m: m.update(own_measures=[5])),
    "a measure's row with half of its columns": field(lambda m: m.update(own_measures=[{"measure": "mine"}])),
    "a measure's row with a chance above one": field(lambda m: m.update(own_measures=[OWN | {"p": 2.0}])),
    "a measure's row under one of our names": field(lambda m: m.update(own_measures=[OWN | {"measure": "acr"}])),
    "warnings that are numbers": field(lambda m: m.update(warnings=[["DATA_EMPTY", 5, 6]])),
}


def attempt(content: bytes, tmp_path) -> AuditFileError:
    path = tmp_path / "forged.audit"
    path.write_bytes(content)
    with pytest.raises(AuditFileError) as caught:
        ee.load(path)
    assert caught.value.code == "AUDIT_FILE"
    assert "forged.audit" in caught.value.what
    assert caught.value.fix
    return caught.value


@pytest.mark.parametrize("name", FORGED)
def test_a_forged_audit_is_refused(saved, tmp_path, name):
    opened = Unwrapped.of(saved)
    FORGED[name](opened)
    attempt(opened.bytes(), tmp_path)


def test_what_is_only_taken_apart_and_put_together_is_read(saved, tmp_path):
    path = tmp_path / "same.audit"
    path.write_bytes(Unwrapped.of(saved).bytes())
    found = set(read_all(path).recourse.status.tolist())
    assert found == set(Status)


def test_what_forgers_start_from_is_read(saved, tmp_path):
    opened, path = Unwrapped.of(saved), tmp_path / "more.audit"
    provenance(surrogate=SURROGATE, resampled=RESAMPLED, recorded={"differs": [0], "unknown": [1]})(opened)
    field(lambda m: m.update(neighbourhood=NEAREST))(opened)
    path.write_bytes(opened.bytes())
    assert ee.load(path).neighbourhood == ee.Nearest(0.3)
    found = ee.load(path).provenance
    assert found.resampled.of("", "ash", "birch") == {"acr": Spread(0.1, 20, 0)}
    assert (found.surrogate.agreement, found.recorded.unknown) == (0.9, (1,))


def test_each_refusal_says_what_is_wrong(saved, tmp_path):
    words = {
        "status 99": "status",
        "swapped groups": "'ash'",
        "negative cost": "negative",
        "bound above the cost": "above its cost",
        "other facts than the hash says": "hash",
        "level beyond the levels": "level",
        "cost that is not the sum of its parts": "sum of its parts",
        "missing array": "'moved'",
        "a margin that is text": "provenance.margin",
    }
    for name, word in words.items():
        opened = Unwrapped.of(saved)
        FORGED[name](opened)
        assert word in attempt(opened.bytes(), tmp_path).what, name


# -- the container ----------------------------------------------------------------------------------------------------


def bomb(parts: dict[str, bytes], name: str, times: int) -> bytes:
    """A zip with a member of so many times ten million zeros, packed once and repeated."""
    zeros, packer = bytes(10_000_000), zlib.compressobj(9, zlib.DEFLATED, -15)
    block = packer.compress(zeros) + packer.flush(zlib.Z_FULL_FLUSH)
    crc = 0
    for _ in range(times):
        crc = zlib.crc32(zeros, crc)
    packed = block * times + packer.flush()
    content = bytearray(zipped(parts | {name: packed}, zipfile.ZIP_STORED))
    for mark, at in ((b"PK\x03\x04", 0), (b"PK\x01\x02", 2)):
        entry = content.rindex(mark)
        struct.pack_into("<H", content, entry + 8 + at, zipfile.ZIP_DEFLATED)
        struct.pack_into("<III", content, entry + 14 + at, crc, len(packed), times * len(zeros))
    return bytes(content)


def test_the_bomb_is_one(saved):
    content = bomb({}, "facts.npy", 3)
    assert members(content)["facts.npy"] == bytes(30_000_000)


def test_what_unpacks_to_far_more_is_refused_before_it_is_unpacked(saved, tmp_path, monkeypatch):
    parts = members(saved)
    parts.pop("facts.npy")
    content = bomb(parts, "facts.npy", 110)
    assert len(content) < 1_500_000
    opened = []
    monkeypatch.setattr(zipfile.ZipFile, "open", lambda self, name, *a, **k: opened.append(name))
    error = attempt(content, tmp_path)
    assert "unpacks to 1,100," in error.what
    assert opened == []


def test_a_member_that_announces_less_than_it_holds(saved, tmp_path):
    content = bytearray(zipped(members(saved), zipfile.ZIP_DEFLATED))
    at = content.index(b"PK\x01\x02")
    # The size after unpacking stands 24 bytes into an entry of the directory.
    (size,) = struct.unpack_from("<I", content, at + 24)
    struct.pack_into("<I", content, at + 24, size - 7)
    attempt(bytes(content), tmp_path)
    struct.pack_into("<I", content, at + 24, size + 7)
    attempt(bytes(content), tmp_path)


def test_a_member_twice(saved, tmp_path):
    buffer = io.BytesIO(saved)
    with warnings.catch_warnings(), zipfile.ZipFile(buffer, "a") as file:
        warnings.simplefilter("ignore")
        file.writestr("status.npy", members(saved)["status.npy"])
    assert "twice" in attempt(buffer.getvalue(), tmp_path).what


def test_members_that_share_their_bytes(saved, tmp_path):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as file:
        for name, content in members(saved).items():
            file.writestr(name, content)
        first = file.infolist()[0]
        for k in range(40):
            file.filelist.append(clone := zipfile.ZipInfo(f"rest{k + 1}.npy"))
            clone.header_offset, clone.CRC = first.header_offset, first.CRC
            clone.compress_size, clone.file_size = first.compress_size, first.file_size
    assert "overlap" in attempt(buffer.getvalue(), tmp_path).what


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_members_packed_in_another_way(saved, tmp_path, method):
    attempt(zipped(members(saved), method), tmp_path)


def test_pickled_arrays(saved, tmp_path):
    harmless = np.array([print] * 40, dtype=object)
    for name in ("cost", "index", "rest0"):
        attempt(zipped(members(saved) | {f"{name}.npy": npy(harmless, allow_pickle=True)}), tmp_path)


@pytest.mark.parametrize("shape", ["(40000000000,)", "(-40,)", "(40, 1)", "()", "(40.0,)", "('a',)", "(True,)"])
def test_a_header_that_announces_another_shape(saved, tmp_path, shape):
    header = f"{{'descr': '<f8', 'fortran_order': False, 'shape': {shape}, }}".ljust(117) + "\n"
    forged = b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + bytes(8 * 40)
    attempt(zipped(members(saved) | {"cost.npy": forged}), tmp_path)


def test_the_row_that_is_forged_above_is_one(saved, tmp_path):
    opened = Unwrapped.of(saved)
    opened.manifest["own_measures"] = [OWN]
    (tmp_path / "own.audit").write_bytes(opened.bytes())
    assert ee.load(tmp_path / "own.audit").own_rows == (OWN,)


def test_structured_arrays(saved, tmp_path):
    attempt(zipped(members(saved) | {"cost.npy": npy(np.zeros(40, dtype=[("a", "f8")]))}), tmp_path)


def test_names_twice_in_the_json(saved, tmp_path):
    parts = members(saved)
    version = f'"version": {VERSION},'.encode()
    assert version in parts["audit.json"]
    parts["audit.json"] = parts["audit.json"].replace(version, version + b" " + version, 1)
    assert "twice" in attempt(zipped(parts), tmp_path).what


def test_json_nested_without_end(saved, tmp_path):
    attempt(zipped(members(saved) | {"audit.json": b"[" * 1_000_000}), tmp_path)
    attempt(zipped(members(saved) | {"audit.json": b'{"a":' * 1_000_000}), tmp_path)


def test_another_file_beside(saved, tmp_path):
    attempt(zipped(members(saved) | {"run.py": b"print()"}), tmp_path)


@pytest.mark.parametrize("version", [0, 1, 2, 3, 4, 5, 6.0, True, "6"])
def test_another_version_is_named(saved, tmp_path, version):
    opened = Unwrapped.of(saved)
    opened.manifest["version"] = version
    assert f"file version {version}" in attempt(opened.bytes(), tmp_path).what


def test_what_is_very_alike_is_packed_so_that_it_can_be_read_again(tmp_path, monkeypatch):
    # A table of equal people shrinks to almost nothing; what we write we must read.
    monkeypatch.setattr("equieffort.data.archive.ALWAYS", 1000)
    monkeypatch.setattr("equieffort.data.archive.MOST_TIMES", 1)
    small_audit().save(tmp_path / "alike.audit")
    assert len(read_all(tmp_path / "alike.audit").recourse) == 40
    with zipfile.ZipFile(tmp_path / "alike.audit") as file:
        assert {info.compress_type for info in file.infolist()} == {zipfile.ZIP_STORED}


# -- groups of several columns, and numbers for groups ----------------------------------------------------------------


@pytest.mark.parametrize(
    ("sensitive", "protected", "reference"),
    [
        ("a", 1, None),
        ("a", [1], 0),
        ("flag", True, None),
        ("share", 0.5, None),
        (("a", "flag"), (1, True), (0, False)),
        (("a", "flag"), [(1, True), (0, True)], (0, False)),
    ],
)
def test_groups_of_any_kind_come_back(tmp_path, sensitive, protected, reference):
    import pandas as pd

    rng = np.random.default_rng(3)
    X = pd.DataFrame({"a": rng.integers(0, 2, 40), "flag": rng.random(40) < 0.5, "x": rng.normal(size=40).round(2)})
    X["share"] = np.where(X["a"] == 1, 0.5, 0.25).astype("float32")
    schema = ee.Schema(
        sensitive=sensitive, protected=protected, reference=reference, favourable=True, features={"x": "actionable"}
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EquieffortWarning)
        scm = ee.StructuralCausalModel([], nodes=["x"]).fit(X)
        made = ee.audit(ee.LinearScore({"x": 1.0}, threshold=0.5), X, schema=schema, scm=scm)
    made.save(tmp_path / "groups.audit")
    loaded = ee.load(tmp_path / "groups.audit")
    assert loaded.by_group.equals(made.by_group)
    loaded.save(tmp_path / "again.audit")
    assert (tmp_path / "again.audit").read_bytes() == (tmp_path / "groups.audit").read_bytes()


# -- tables made by other means ---------------------------------------------------------------------------------------

TABLES = """
import dataclasses, sys
import numpy as np
from tests.fuzz.worlds import small_audit
from equieffort.errors import EquieffortError
audit = small_audit()
table = audit.recourse
codes = table.groups.codes
def coded(codes):
    return dataclasses.replace(table, groups=dataclasses.replace(table.groups, codes=codes))
bad = {
    "codes": lambda: coded(codes + 30_000),
    "negative": lambda: coded(codes - 9),
    "status": lambda: dataclasses.replace(table, status=np.full(len(table), 99, dtype=np.int8)),
    "short": lambda: dataclasses.replace(table, cost=table.cost[:3]),
    "fewer codes": lambda: coded(codes[:3]),
}
for name, make in bad.items():
    try:
        dataclasses.replace(audit, recourse=make()).curve([0.5, 1.0])
    except EquieffortError as error:
        assert error.fix, name
    else:
        sys.exit(f"{name} was believed")
in_place = small_audit()
in_place.recourse.groups.codes[:] = 25_000
try:
    in_place.curve([0.5, 1.0])
except EquieffortError:
    print("lives")
"""


def test_tables_made_by_other_means_never_reach_compiled_code():
    """In a process of its own: what is tested ended it."""
    root = Path(__file__).parents[2]
    done = subprocess.run([sys.executable, "-c", TABLES], capture_output=True, text=True, timeout=600, cwd=root)
    assert (done.returncode, done.stdout.strip()) == (0, "lives"), done.stderr


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"group": np.full(40, 7)}, "group"),
        ({"group": np.full(40, -5)}, "group"),
        ({"group": np.zeros(3, dtype=np.int64)}, "people"),
        ({"cost": np.zeros(3)}, "people"),
        ({"cost": np.full(40, np.inf)}, "cost"),
        ({"centres": np.array([40])}, "centre"),
        ({"centres": np.array([-1])}, "centre"),
    ],
)
def test_the_sweep_checks_every_index_it_is_given(change, word):
    from equieffort.effort.neighbours import sweep

    audit = small_audit()
    given = {
        "centres": np.array([0, 5]), "quantiles": [0.5], "group": np.zeros(40, dtype=np.int64), "cost": np.ones(40),
        "groups": 2,
    }  # fmt: skip
    bound = audit.distance(ee.Manhattan())
    assert sweep(bound, **given).size.shape == (2, 1, 2)
    with pytest.raises(EquieffortError, match=word):
        sweep(bound, **given | change)
