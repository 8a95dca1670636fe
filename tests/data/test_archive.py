"""Members of an audit file are, to the byte, what numpy and zipfile write of a whole array at once."""

import io
import zipfile
from pathlib import Path

import numpy as np
import pytest

from equieffort.data.archive import WRITTEN, Archive, write_archive

RNG = np.random.default_rng(0)
MEMBERS = {
    "flags": RNG.random(1000) < 0.5,
    "numbers": RNG.normal(size=70_000),
    "packed": np.repeat(np.arange(50.0), 4000),
    "longer than a piece": np.repeat(RNG.normal(size=5000), 40)[: WRITTEN // 8 + 7],
    "rows": RNG.integers(0, 5, (40_000, 3)).astype(np.float64),
    "columns": np.asfortranarray(RNG.integers(0, 5, (40_000, 3)).astype(np.float64)),
    "one column": RNG.integers(0, 9, (300, 1)),
    "no column": np.empty((20, 0)),
    "every other row": RNG.normal(size=(200, 4))[::2],
    "three ways": RNG.integers(0, 100, (40, 13, 2)),
    "nobody": np.empty(0),
}


def whole(array: np.ndarray) -> bytes:
    """As a file of numpy, two dimensions column by column."""
    stream = io.BytesIO()
    np.save(stream, np.asfortranarray(array) if array.ndim == 2 else np.ascontiguousarray(array))
    return stream.getvalue()


@pytest.mark.parametrize("packed", [True, False])
def test_members_are_those_of_arrays_written_whole(tmp_path: Path, packed: bool) -> None:
    path = tmp_path / "some.audit"
    write_archive(
        path, {"text.json": b"{}" * 100} | {f"{name}.npy": one for name, one in MEMBERS.items()}, packed=packed
    )
    with zipfile.ZipFile(path) as found, zipfile.ZipFile(tmp_path / "other", "w") as other:
        for info in found.infolist():
            content = b"{}" * 100 if info.filename == "text.json" else whole(MEMBERS[info.filename[:-4]])
            again = zipfile.ZipInfo(info.filename, (1980, 1, 1, 0, 0, 0))
            again.compress_type = info.compress_type
            other.writestr(again, content, compresslevel=1)
        assert any(info.compress_type for info in found.infolist()) == packed
        archive = Archive(found, path.stat().st_size)
        for name, one in MEMBERS.items():
            read = archive.array(f"{name}.npy")
            assert read.dtype == one.dtype
            assert np.array_equal(read, one)
    assert path.read_bytes() == (tmp_path / "other").read_bytes()
