"""The metrics of the service, in the format of Prometheus."""

from __future__ import annotations

from typing import Any

from credalens._extras import require

prometheus = require("prometheus_client", "serve")

#: Upper ends of the bins of durations, in seconds.
DURATIONS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)


class Counters:
    """Counts of requests and rows, and the durations of requests, of one application."""

    def __init__(self, info: dict[str, str]) -> None:
        registry = prometheus.CollectorRegistry(auto_describe=True)
        for collector in (prometheus.ProcessCollector, prometheus.PlatformCollector):
            collector(registry=registry)
        self._registry = registry
        self._requests = prometheus.Counter(
            "credalens_requests", "Requests that were answered.", ("path", "status"),
            registry=registry,
        )  # fmt: skip
        rows = prometheus.Counter(
            "credalens_rows", "Rows that were scored.", ("keep",), registry=registry
        )
        self._rows = {keep: rows.labels(str(keep).lower()) for keep in (True, False)}
        self._seconds = prometheus.Histogram(
            "credalens_request_seconds", "Durations of requests of scores.", registry=registry,
            buckets=DURATIONS,
        )  # fmt: skip
        self.in_progress = prometheus.Gauge(
            "credalens_requests_in_progress", "Requests that are under way.", registry=registry
        )
        prometheus.Info("credalens_policy", "The policy.", registry=registry).info(info)
        self._known: dict[tuple[str, int], Any] = {}

    def answered(self, path: str, status: int, seconds: float | None = None) -> None:
        """Count a request that was answered, and the duration of a request of scores."""
        key = path, status
        if key not in self._known:
            self._known[key] = self._requests.labels(path, str(status))
        self._known[key].inc()
        if seconds is not None:
            self._seconds.observe(seconds)

    def scored(self, kept: int, handed_over: int) -> None:
        """Count the rows of a request."""
        self._rows[True].inc(kept)
        self._rows[False].inc(handed_over)

    def text(self) -> tuple[bytes, str]:
        """Return the metrics and their content type."""
        return prometheus.generate_latest(self._registry), prometheus.CONTENT_TYPE_LATEST
