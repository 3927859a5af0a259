"""The scheduler without a database: what would have happened with other limits, weights and workers."""

from lonnymq.simulate.replay import Replayed, Workload, replay
from lonnymq.simulate.ring import Limits

__all__ = ["Limits", "Replayed", "Workload", "replay"]
