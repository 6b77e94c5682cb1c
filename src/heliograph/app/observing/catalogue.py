"""The catalogue of the metrics, from which the exposition and the reference page are made.

Labels are bounded: connectors by name, states, results, codes. Never a number, an account or a text.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

MS_SHORT: Final[tuple[int, ...]] = (1, 2, 5, 10, 25, 50, 100, 250, 500, 1_000, 2_500, 5_000, 10_000, 30_000, 60_000)
"""Upper bounds of classes for short durations. Milliseconds."""

MS_LONG: Final[tuple[int, ...]] = (
    10, 50, 100, 250, 500, 1_000, 2_500, 5_000, 10_000, 30_000, 60_000, 300_000, 1_800_000, 7_200_000, 43_200_000,
    172_800_000,
)  # fmt: skip
"""Upper bounds of classes for durations up to days. Milliseconds."""

US_COMMIT: Final[tuple[int, ...]] = (
    250,
    500,
    1_000,
    2_000,
    5_000,
    10_000,
    25_000,
    50_000,
    100_000,
    250_000,
    1_000_000,
    5_000_000,
)
"""Upper bounds of classes for the duration of a commit. Microseconds."""

COUNTS: Final[tuple[int, ...]] = (1, 2, 5, 10, 25, 50, 100, 250, 500, 1_000, 2_500, 5_000, 10_000)
"""Upper bounds of classes for numbers of things."""


class MetricKind(StrEnum):
    """The types of metrics, under Prometheus's names."""

    COUNTER = "counter"
    GAUGE = "gauge"
    HISTOGRAM = "histogram"


@dataclass(frozen=True, slots=True)
class Metric:
    """A metric. `bounds` of a histogram are whole numbers of `scale` units: (1, 5) and 0.001 are 1 ms and 5 ms."""

    name: str
    kind: MetricKind
    help: str
    labels: tuple[str, ...] = ()
    bounds: tuple[int, ...] = ()
    scale: float = 1.0

    @property
    def unit(self) -> str:
        """The unit at the end of the name, or an empty text."""
        stem = self.name.removesuffix("_total")
        return next((unit for unit in ("seconds", "bytes") if stem.endswith(f"_{unit}")), "")


def _counter(name: str, text: str, *labels: str) -> Metric:
    return Metric(name, MetricKind.COUNTER, text, labels)


def _gauge(name: str, text: str, *labels: str) -> Metric:
    return Metric(name, MetricKind.GAUGE, text, labels)


def _ms(name: str, text: str, bounds: tuple[int, ...], *labels: str) -> Metric:
    return Metric(name, MetricKind.HISTOGRAM, text, labels, bounds, 0.001)


SECTIONS: tuple[tuple[str, str, tuple[Metric, ...]], ...] = (
    (
        "Messages",
        "What customers asked for, and what became of it.",
        (
            _counter(
                "heliograph_messages_accepted_total",
                "Messages accepted, charged and stored. kind is immediate or scheduled. The gateway's own answers to "
                "STOP and HELP are not in it.",
                "kind",
            ),
            _counter(
                "heliograph_requests_refused_total",
                "Requests to the customers' API that got an error, by its cause; reason `replayed`: "
                "those that repeated an earlier one. Whose they were tells `heliograph refusals`.",
                "reason",
            ),
            _counter(
                "heliograph_messages_submitted_total",
                "Messages whose first part the operator took.",
                "connector",
            ),
            _counter(
                "heliograph_messages_final_total",
                "Messages that left the gateway and reached their final state (DELIVRD, UNDELIV, ...).",
                "state",
            ),
            _counter(
                "heliograph_messages_failed_total",
                "Messages that never left the gateway and were refunded, by the state that the customer is told.",
                "state",
            ),
            _counter("heliograph_http_responses_total", "HTTP answers.", "status"),
            _counter(
                "heliograph_http_turned_away_total",
                "Connections and requests that were turned away. reason is connections (refused: its address has too "
                "many), full (refused: nobody could make room), unfinished (closed to make room: its request was slow "
                "to come), idle (closed to make room: it had no request) or share (its address has used up its share).",
                "reason",
            ),
            _counter(
                "heliograph_sign_in_failures_total",
                "Sign-ins refused. door is api (customers), console or admin_api (tokens). reason is wrong (name, "
                "password, key or token), locked (not even checked: too much was wrong before) or "
                "second_factor (the password was right, and the code or the passkey was not).",
                "door",
                "reason",
            ),
            _counter(
                "heliograph_tls_handshakes_total",
                "TLS handshakes, where http.tls_listen is set. outcome is done, failed (no TLS, or not as it is spoken "
                "here, or a certificate that is not trusted), late (too slow, left, or ended to make room) or refused "
                "(closed before: its address has too many, or has used up its share).",
                "outcome",
            ),
            _gauge(
                "heliograph_tls_certificate_end_seconds",
                "When the certificate in use ends, in seconds since 1970.",
            ),
            _ms(
                "heliograph_accept_seconds",
                "From a request's being read to its answer: the wait for the commit and the commit.",
                MS_SHORT,
            ),
        ),
    ),
    (
        "Store",
        "Everything that happens is written in group commits.",
        (
            _gauge("heliograph_store_up", "1 while the store can be read and written, 0 since that failed."),
            _counter("heliograph_store_failures_total", "Commits that failed and were tried again."),
            _counter(
                "heliograph_store_refused_total",
                "What the store would not have though all else of its commit was recorded. fate is refused (a request, "
                "which got 503), reduced (recorded without what an operator or receiver said) or dropped.",
                "fate",
            ),
            _counter(
                "heliograph_retention_messages_total",
                "Messages of either way that lost their text or number, or were dropped, since they are old; stage "
                "erasure: since somebody asked for it.",
                "stage",
            ),
            _counter(
                "heliograph_retention_left_total",
                "Messages that were old enough and left as they are, since something is still pending for them.",
                "stage",
            ),
            _gauge(
                "heliograph_retention_lag_seconds",
                "How far what is being redacted or dropped now is beyond the days for which it is kept; 0 at rest.",
                "stage",
            ),
            _gauge("heliograph_data_free_bytes", "Free space on the disk of the data directory."),
            Metric(
                "heliograph_store_commit_seconds", MetricKind.HISTOGRAM, "Time of a commit.", (), US_COMMIT, 0.000001
            ),
            Metric("heliograph_store_commit_records", MetricKind.HISTOGRAM, "Records in a commit.", (), COUNTS),
        ),
    ),
    (
        "Dispatch",
        "Parts on their way to the operators, by connector.",
        (
            _counter(
                "heliograph_parts_total",
                "Parts by the operator's response: accepted, deferred (tried again), refused (for good); unknown is "
                "no response.",
                "connector",
                "outcome",
            ),
            _counter(
                "heliograph_operator_errors_total",
                "Answers other than success, by command status (hexadecimal); what goes beyond 40 codes is `other`.",
                "connector",
                "code",
            ),
            _counter(
                "heliograph_throttled_total",
                "Answers by which the operator said that it is sent too much (ESME_RTHROTTLED, ESME_RMSGQFUL).",
                "connector",
            ),
            _ms(
                "heliograph_queue_wait_seconds",
                "From when a message was accepted, or scheduled for, until a part of it was written.",
                MS_LONG,
                "connector",
            ),
            _ms(
                "heliograph_submit_seconds",
                "From when a part was written until the operator's response.",
                MS_SHORT,
                "connector",
            ),
            _gauge("heliograph_connector_binds", "Binds that are configured.", "connector"),
            _gauge("heliograph_connector_binds_up", "Binds that are up.", "connector"),
            _gauge(
                "heliograph_connector_silent_seconds",
                "For how long the operator has not responded to a submit_sm, on the bind where that is longest; 0 "
                "where no response is pending.",
                "connector",
            ),
            _gauge("heliograph_connector_window", "Places in the window, over all binds that are up.", "connector"),
            _gauge("heliograph_connector_in_flight", "Places in use.", "connector"),
            _gauge(
                "heliograph_connector_rate_limit",
                "Parts a second that are configured for this time of day; 0 is no limit.",
                "connector",
            ),
            _gauge(
                "heliograph_connector_rate",
                "Parts a second that may go at this moment, as the operator lets them; +Inf is no limit, 0 where "
                "nothing is sent at this time of day.",
                "connector",
            ),
            _gauge(
                "heliograph_connector_paused_seconds", "How long nothing is sent on the operator's word.", "connector"
            ),
            _gauge("heliograph_connector_queue", "Messages that wait in memory.", "connector"),
        ),
    ),
    (
        "Receipts",
        "From operators.",
        (
            _counter(
                "heliograph_receipts_total",
                "Receipts by what was found for them: matched; repeated; early (kept, since nothing is known of their "
                "message yet); late_match (early ones that found it then).",
                "result",
            ),
            _counter(
                "heliograph_receipts_received_total", "Receipts that came, whether they match or not.", "connector"
            ),
            _counter(
                "heliograph_receipts_put_off_total",
                "Receipts that the operator was asked to send again, since they could not be kept.",
                "connector",
            ),
            _counter("heliograph_receipts_unreadable_total", "Receipts without an id.", "connector"),
            _counter(
                "heliograph_receipt_queries_total",
                "Questions by query_sm about parts whose receipts have not come: asked; told (with a state).",
                "connector",
                "result",
            ),
            _ms(
                "heliograph_receipt_delay_seconds",
                "From the operator's taking a message until its last receipt came.",
                MS_LONG,
            ),
            _gauge("heliograph_receipts_awaited", "Parts whose receipts are awaited in memory."),
        ),
    ),
    (
        "Inbound",
        "From phones, by way of operators. Each is counted once, however often an operator brings it.",
        (
            _counter(
                "heliograph_inbound_messages_total",
                "Messages from phones that are kept: routed (to the account of their number) or unrouted.",
                "connector",
                "result",
            ),
            _counter("heliograph_inbound_parts_total", "Parts of messages from phones that are kept.", "connector"),
            _counter(
                "heliograph_inbound_incomplete_total",
                "Messages of which parts never came, kept without them.",
                "connector",
            ),
            _counter(
                "heliograph_inbound_national_numbers_total",
                "Messages and parts from national numbers that no inbound_country of the connector makes international "
                "ones: neither STOP nor an erasure knows such a phone.",
                "connector",
            ),
            _ms(
                "heliograph_inbound_commit_seconds",
                "From when a message that came whole was read until it was on disk, and the operator had its answer.",
                MS_SHORT,
            ),
            _counter(
                "heliograph_opt_outs_total",
                "Texts of phones to accounts whose opt_out is on: stop, start, yes, help; suspected (such a word among "
                "others).",
                "wish",
            ),
        ),
    ),
    (
        "Callbacks",
        "To customers.",
        (
            _counter(
                "heliograph_callbacks_total", "Callbacks that are over: delivered, gone (410) or failed.", "result"
            ),
            _counter("heliograph_callback_retries_total", "Tries that failed and will be made again."),
            _ms(
                "heliograph_callback_seconds",
                "From when a callback was due first until it was delivered.",
                MS_LONG,
            ),
            _gauge("heliograph_callbacks_in_the_air", "Callbacks that are with the sender."),
        ),
    ),
    (
        "Backlog",
        "Read from the store every 15 seconds, not at every scrape; counts stop at 100,000.",
        (
            _gauge("heliograph_queue_messages", "Messages due in the queue's rows, beyond those in memory."),
            _gauge(
                "heliograph_queue_oldest_seconds",
                "For how long the oldest message that could be sent has been due; in memory or in the rows.",
            ),
            _gauge(
                "heliograph_deferred_messages",
                "Messages that wait for another try, since the operator did not want them yet, or did not answer.",
                "connector",
            ),
            _gauge("heliograph_scheduled_messages", "Messages scheduled for later."),
            _gauge("heliograph_guard_holds", "Accounts and prefixes whose traffic the pumping guard holds."),
            _gauge("heliograph_guard_messages", "Messages that it holds; of each hold up to 100,000 are counted."),
            _gauge("heliograph_awaiting_parts", "Parts whose receipts are awaited by their rows."),
            _gauge("heliograph_callbacks_pending", "Callbacks that wait for their next try."),
            _gauge("heliograph_callbacks_failed", "Callbacks that failed for good, or whose receiver is gone."),
            _gauge("heliograph_unmatched_receipts", "Receipts that match nothing, of the last seven days."),
            _gauge("heliograph_backlog_refreshed_seconds", "When this section was read, in Unix seconds."),
        ),
    ),
    (
        "Money",
        "In credits.",
        (
            _gauge("heliograph_balance_credits", "Sum of all accounts' balances; read every 15 seconds."),
            _gauge("heliograph_accounts", "Accounts; read every 15 seconds."),
            _counter("heliograph_charged_credits_total", "Charged for accepted messages since the start."),
            _counter(
                "heliograph_refunded_credits_total",
                "Given back since the start for messages that never left. Cancelled ones are not in it, nor those that "
                "an opt-out withdrew.",
            ),
        ),
    ),
    (
        "Process",
        "Under the names that other programs use.",
        (
            _gauge("heliograph_build_info", "Always 1; the labels tell what runs.", "version", "python"),
            _counter("process_cpu_seconds_total", "Processor time, user and system."),
            _gauge("process_resident_memory_bytes", "Resident memory."),
            _gauge("process_open_fds", "Open file descriptors."),
            _gauge("process_max_fds", "File descriptors that may be open."),
            _gauge("process_start_time_seconds", "When the process began, in Unix seconds."),
            _counter("python_gc_collections_total", "Collections of garbage.", "generation"),
        ),
    ),
)

METRICS: dict[str, Metric] = {metric.name: metric for _, _, metrics in SECTIONS for metric in metrics}
"""All metrics by name."""
