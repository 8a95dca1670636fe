"""Monitoring: batches of decisions arrive, and an alarm is raised when efforts are unequal beyond tau.

The chance of a false alarm holds for the whole life of a monitor, however often somebody looks (docs/monitoring.md).
"""

from equieffort.monitor.monitor import Monitor
from equieffort.monitor.state import MEASURES, MonitorState

__all__ = ["MEASURES", "Monitor", "MonitorState"]
