"""Metrics of the dashboard in Prometheus's text format, and the label that dashboard and workers share."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
REST = "(rest)"  # all channels without a label of their own


class Family(Metric):
    """A metric with its samples. The name of a counter ends in `_total`."""

    def __init__(
        self, name: str, kind: Literal["counter", "gauge", "histogram"], about: str
    ) -> None:
        super().__init__(name.removesuffix("_total"), about, kind)
        self.sample_name = name

    def add(self, value: float | None, /, **labels: str) -> None:
        """Add a sample, unless the value is unknown."""
        if value is not None:
            self.add_sample(self.sample_name, labels, value)

    def add_histogram(
        self, bounds: Sequence[float], counts: Sequence[int], total: float, /, **labels: str
    ) -> None:
        """Add the samples of a histogram: `counts` are per bucket, and the last bucket has no bound."""
        below = 0
        for bound, count in zip([*map(repr, bounds), "+Inf"], counts, strict=True):
            below += count
            self.add_sample(f"{self.sample_name}_bucket", {**labels, "le": bound}, below)
        self.add_sample(f"{self.sample_name}_count", labels, below)
        self.add_sample(f"{self.sample_name}_sum", labels, total)


class Families(Collector):
    """A collector of metrics whose values are known already."""

    def __init__(self, families: Iterable[Family]) -> None:
        self.families = [each for each in families if each.samples]

    def collect(self) -> Iterable[Metric]:
        """Return the metrics that have a sample."""
        return self.families


def exposition(families: Iterable[Family]) -> str:
    """Return the metrics as text."""
    registry = CollectorRegistry()
    registry.register(Families(families))
    return generate_latest(registry).decode()
