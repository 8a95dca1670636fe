"""More than one process, more than one machine, more than one memory; see `docs/scale.md`.

>>> import equieffort as ee
>>> ee.scale.Checkpoint("parts", resume=True).resume
True
"""

from equieffort.data.parquet import Parquet
from equieffort.recourse.checkpoints import Checkpoint
from equieffort.results.streaming import Streaming

__all__ = ["Checkpoint", "Parquet", "Streaming"]


def __dir__() -> list[str]:
    return __all__
