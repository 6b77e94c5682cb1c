"""The metrics of a process, at `/metrics`, in the text formats of Prometheus and OpenMetrics."""

from heliograph.adapters.metrics.collect import Collector
from heliograph.adapters.metrics.exposition import render
from heliograph.adapters.metrics.page import MetricsPage

__all__ = ["Collector", "MetricsPage", "render"]
