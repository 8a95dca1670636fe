"""The state's file: what goes in comes out, and what is damaged, forged or half written is never believed."""

from __future__ import annotations

import base64
import errno
import hashlib
import json
import os
import random
from pathlib import Path

import numpy as np
import pytest
from tests.fuzz.mutate import change_json
from tests.monitor.worlds import monitor, people, update

import equieffort as ee
from equieffort.errors import MonitorError, ParameterError
from equieffort.monitor.file import to_bytes


@pytest.fixture(scope="module")
def kept(tmp_path_factory) -> bytes:
    """The content of a state after four batches."""
    path = tmp_path_factory.mktemp("kept") / "s"
    watching = monitor(state=path, budget=0.3, tau=1.0)
    for seed in range(4):
        update(watching, people(60, seed, behind=1.0), name=f"batch {seed}", ordered=seed != 2)
    return path.read_bytes()


def written(path: Path, payload: dict) -> Path:
    """The payload with the checksum that it should have: what somebody who forges a state would write."""
    payload.pop("sha256", None)
    text = json.dumps(payload, sort_keys=True, separators=(",", ":"))
    payload["sha256"] = hashlib.sha256(text.encode()).hexdigest()
    path.write_text(json.dumps(payload))
    return path


def refused(path: Path, words: str, code: str = "MONITOR_STATE") -> MonitorError:
    before = path.read_bytes()
    with pytest.raises(MonitorError, match=words) as caught:
        ee.Monitor.look(path)
    assert caught.value.code == code
    assert caught.value.fix
    with pytest.raises(MonitorError):
        monitor(state=path)
    assert path.read_bytes() == before
    return caught.value


def test_the_state_comes_back_to_the_bit(tmp_path, kept):
    path = tmp_path / "s"
    path.write_bytes(kept)
    found = ee.Monitor.look(path)
    assert to_bytes(found) == kept
    assert len(found.batches) == 4
    going_on = monitor(state=path)
    straight = monitor(budget=0.3, tau=1.0)
    for seed in range(4):
        update(straight, people(60, seed, behind=1.0), ordered=seed != 2)
    for one in (going_on, straight):
        update(one, people(60, 9, behind=1.0))
    for name in ("wealth", "grid", "rejected", "waiting", "seen"):
        for mine, theirs in zip(going_on.state.gathered, straight.state.gathered, strict=True):
            assert np.array_equal(getattr(mine, name), getattr(theirs, name))


def test_the_file_is_small(kept):
    assert len(kept) < 100_000


@pytest.mark.parametrize("keep", [0, 1, 100, 5_000, -1, -70])
def test_a_file_that_was_cut_short(tmp_path, kept, keep):
    path = tmp_path / "s"
    path.write_bytes(kept[:keep] if keep != -1 else kept[:-3])
    refused(path, "no complete state")


def test_any_flipped_byte_is_found(tmp_path, kept):
    rng, path = np.random.default_rng(0), tmp_path / "s"
    for at in rng.integers(0, len(kept), 60).tolist():
        damaged = bytearray(kept)
        damaged[at] ^= 1 << int(rng.integers(0, 7))
        if json_or_none(bytes(damaged)) == json.loads(kept):
            continue  # only the layout changed
        path.write_bytes(bytes(damaged))
        with pytest.raises(MonitorError):
            ee.Monitor.look(path)


def json_or_none(raw: bytes):
    try:
        return json.loads(raw)
    except ValueError:
        return None


@pytest.mark.parametrize(
    "raw", [b"{}", b"[]", b"null", b"\xff\xfe", b"[" * 100_000, b'{"format": "equieffort-audit"}', b"PK\x03\x04"]
)
def test_other_files(tmp_path, raw):
    path = tmp_path / "s"
    path.write_bytes(raw)
    refused(path, "no complete state")


@pytest.mark.parametrize("version", [0, 2, 4, None, "3", True, 3.0])
def test_another_version_is_refused_by_its_number(tmp_path, kept, version):
    path = written(tmp_path / "s", json.loads(kept) | {"version": version})
    refused(path, f"has state version {version}; this equieffort reads version 3")


def encoded(array: np.ndarray) -> str:
    return base64.b64encode(array.astype("<f8").tobytes()).decode()


def decoded(text: str, *shape: int) -> np.ndarray:
    return np.frombuffer(base64.b64decode(text), "<f8").reshape(shape).copy()


def change(field: str, to):
    """A forgery of one field of what the first batch fixed."""
    return lambda payload: payload["fixed"].update({field: to})


def batch(field: str, to):
    return lambda payload: payload["batches"][-1].update({field: to})


def reading(field: str, to):
    return lambda payload: payload["batches"][-1]["readings"][0].update({field: to})


def wealth(to: float):
    def forge(payload):
        array = decoded(payload["gathered"][0]["wealth"], 2, 8)
        array[0, 7] = to
        payload["gathered"][0]["wealth"] = encoded(array)

    return forge


def tally(name: str, to: float, at: tuple[int, int] = (0, 1)):
    def forge(payload):
        array = decoded(payload["gathered"][0][name], 2, 3)
        array[at] = to
        payload["gathered"][0][name] = encoded(array)

    return forge


def twice(payload):
    payload["batches"][1]["digest"] = payload["batches"][0]["digest"]


def shorter(payload):
    payload["gathered"] = payload["gathered"][:1]


def forgotten(payload):
    del payload["batches"][1]


FORGERIES = {
    "tau below 1": change("tau", 0.5),
    "no tau": change("tau", float("nan")),
    "level 1": change("level", 1.0),
    "budget 0": change("budget", 0.0),
    "budget as text": change("budget", "0.3"),
    "another measure": change("measures", ["acr", "burden"]),
    "no measure": change("measures", []),
    "protected reference": change("compared", [["birch", "birch"]]),
    "unknown group": change("compared", [["elm", "birch"]]),
    "a group twice": change("compared", [["ash", "birch"], ["ash", "birch"]]),
    "no date": batch("date", "soon"),
    "no digest": batch("digest", "abc"),
    "fewer people": batch("people", 1),
    "nobody": batch("people", 0),
    "more refused than people": batch("refused", 61),
    "people as a fraction": batch("people", 60.5),
    "more evidence told than there is": reading("log_e", 99.0),
    "less at the peak than at the end": reading("peak", -50.0),
    "a narrower interval": reading("low", 1.4),
    "nobody's side": reading("side", 2),
    "more people seen": reading("n", 10_000),
    "more wealth": wealth(50.0),
    "impossible wealth": wealth(1e6),
    "no wealth": wealth(float("nan")),
    "ruin": wealth(float("-inf")),
    "negative effort": tally("seen", -1.0),
    "more effort than people": tally("seen", 1e6, (0, 2)),
    "half a person": tally("waiting", 0.5, (0, 0)),
    "both wait": lambda payload: (tally("waiting", 1, (0, 0))(payload), tally("waiting", 1, (1, 0))(payload)),
    "a batch twice": twice,
    "evidence for one comparison only": shorter,
    "a batch forgotten": forgotten,
    "no batches": lambda payload: payload.update(batches=[]),
    "short array": lambda payload: payload["gathered"][0].update(wealth=encoded(np.zeros(15))),
    "no array": lambda payload: payload["gathered"][0].update(grid="%%%"),
    "other flags": lambda payload: payload["gathered"][0].update(rejected="2" * 322),
    "flags that are not so": lambda payload: payload["gathered"][0].update(rejected="1" * 322),
    "no evidence": lambda payload: payload.pop("gathered"),
}


@pytest.mark.parametrize("forge", FORGERIES.values(), ids=FORGERIES)
def test_a_forged_state_with_the_right_checksum(tmp_path, kept, forge):
    payload = json.loads(kept)
    assert ee.Monitor.look(written(tmp_path / "s", dict(payload))).batches
    forge(payload)
    refused(written(tmp_path / "s", payload), "no complete state of a monitor: ")


def test_a_name_that_occurs_twice(tmp_path, kept):
    path = tmp_path / "s"
    path.write_bytes(kept.replace(b'{\n "format"', b'{\n "version": 1,\n "format"', 1))
    refused(path, "occurs twice")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs POSIX pipes")
def test_what_has_no_end_is_not_read(tmp_path):
    os.mkfifo(tmp_path / "s")
    with pytest.raises(MonitorError, match="a device or a pipe"):
        ee.Monitor.look(tmp_path / "s")
    with pytest.raises(MonitorError, match="cannot be read"):
        ee.Monitor.look(tmp_path / "absent")


# -- writing ----------------------------------------------------------------------------------------------------------


def test_a_state_that_cannot_be_written_is_as_it_was(tmp_path, kept, monkeypatch):
    path = tmp_path / "s"
    path.write_bytes(kept)
    watching = monitor(state=path)
    before = watching.state

    def no_room(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patched:
        patched.setattr("os.fsync", no_room)
        with pytest.raises(MonitorError, match="could not be written: No space left") as caught:
            update(watching, people(30, 8))
    assert caught.value.code == "RUN_WRITE"
    assert path.read_bytes() == kept
    assert [one.name for one in tmp_path.iterdir()] == ["s"]
    assert watching.state is before
    assert len(update(watching, people(30, 8)).batches) == 5


@pytest.mark.parametrize("moment", ["os.fsync", "os.replace"])
def test_an_interruption_leaves_the_last_good_state(tmp_path, kept, monkeypatch, moment):
    path = tmp_path / "s"
    path.write_bytes(kept)
    watching = monitor(state=path)

    def interrupted(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(moment, interrupted)
        with pytest.raises(KeyboardInterrupt):
            update(watching, people(30, 8))
    assert path.read_bytes() == kept
    assert [one.name for one in tmp_path.iterdir()] == ["s"]
    assert len(update(watching, people(30, 8)).batches) == 5
    assert len(ee.Monitor.look(path).batches) == 5


def test_two_who_count_at_the_same_time(tmp_path, kept):
    path = tmp_path / "s"
    path.write_bytes(kept)
    one, other = monitor(state=path), monitor(state=path)
    update(one, people(30, 8))
    with pytest.raises(MonitorError, match="changed by somebody else") as caught:
        update(other, people(30, 9))
    assert caught.value.code == "RUN_CHANGED"
    assert len(ee.Monitor.look(path).batches) == 5
    first, second = monitor(state=tmp_path / "new", budget=0.3), monitor(state=tmp_path / "new", budget=0.3)
    update(first, people(30, 8))
    with pytest.raises(MonitorError, match="changed by somebody else"):
        update(second, people(30, 9))


def test_names_with_half_a_character(tmp_path, kept):
    watching = monitor(state=tmp_path / "s", budget=0.3)
    update(watching, people(30, 1), name="caf\udce9.csv")
    assert ee.Monitor.look(tmp_path / "s").batches[0].name == "caf?.csv"
    payload = json.loads(kept)
    payload["batches"][0]["name"] = "caf\udce9.csv"
    refused(written(tmp_path / "forged", payload), "surrogates not allowed")


def test_places_that_cannot_be(tmp_path):
    for place, words in ((tmp_path, "is a folder"), (tmp_path / "no" / "s", "does not exist")):
        with pytest.raises(ParameterError, match=words) as caught:
            monitor(state=place)
        assert caught.value.code == "OUTPUT"


@pytest.mark.parametrize("first", [0, 100])
def test_whatever_is_changed_it_is_refused_or_can_be_used(tmp_path, kept, first):
    """Fields with wild values and a checksum that fits: an error of ours, or a state that can be read and shown."""
    used = 0
    for seed in range(first, first + 100):
        payload = change_json(json.loads(kept), random.Random(seed))
        if not isinstance(payload, dict):
            continue
        try:
            state = ee.Monitor.look(written(tmp_path / "s", payload))
        except MonitorError:
            continue
        used += 1
        assert str(state)
        assert len(state.history) == len(state.batches) * len(state.evidence)
        assert json.loads(to_bytes(state))["batches"]
    assert used < 60
