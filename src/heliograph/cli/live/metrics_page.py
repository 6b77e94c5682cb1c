"""The reference page of the metrics, drawn from their catalogue."""

from heliograph.app.observing.catalogue import SECTIONS, Metric

_HEAD = """\
# Metrics

`GET /metrics` on the port of the API answers in Prometheus' text format, or in OpenMetrics where the scraper asks for
it. It is open to loopback, and to the networks of the setting `metrics.allowed_networks`; a request that came through
a proxy is refused ([why](decisions/0010-metrics-and-the-door.md)). `heliograph top` shows the same on a terminal.

```yaml
scrape_configs:
  - job_name: heliograph
    scrape_interval: 15s
    static_configs:
      - targets: ["127.0.0.1:8080"]
```

Times are in seconds, amounts in credits. Labels are connectors by name, states, results and codes: never a number, an
account or a text. Counters begin at 0 with each start. [alerts.yml](../ops/alerts.yml) has alerts and
[grafana-dashboard.json](../ops/grafana-dashboard.json) a dashboard; both use what is listed here, which a test sees to.
"""


def metrics_page() -> str:
    """`docs/metrics.md`."""
    parts = [_HEAD]
    for title, text, metrics in SECTIONS:
        parts.append(f"\n## {title}\n\n{text}\n\n| metric | kind | labels | meaning |\n|---|---|---|---|\n")
        parts.extend(_row(metric) for metric in metrics)
    return "".join(parts)


def _row(metric: Metric) -> str:
    labels = ", ".join(f"`{label}`" for label in metric.labels) or "-"
    text = metric.help
    if metric.bounds:
        text += " Classes: " + ", ".join(f"{bound * metric.scale:g}" for bound in metric.bounds) + "."
    return f"| `{metric.name}` | {metric.kind} | {labels} | {text} |\n"
