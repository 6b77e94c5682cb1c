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
        "Customers' requests and their results.",
        (
            _counter(
                "heliograph_messages_accepted_total",
                "Messages accepted, charged and stored. kind is immediate or scheduled. The gateway's own "
                "answers to STOP and HELP are excluded.",
                "kind",
            ),
            _counter(
                "heliograph_requests_refused_total",
                "Requests of customers, and rows of the console's lists, that got an error, by reason; reason "
                "`replayed`: repeats of an earlier request. `heliograph refusals` shows the accounts.",
                "reason",
            ),
            _counter(
                "heliograph_messages_submitted_total",
                "Messages with a first part accepted by the operator.",
                "connector",
            ),
            _counter(
                "heliograph_messages_final_total",
                "Messages that left the gateway and reached their final state (DELIVRD, UNDELIV, ...).",
                "state",
            ),
            _counter(
                "heliograph_messages_failed_total",
                "Messages that never left the gateway and were refunded, by the state that the customer sees.",
                "state",
            ),
            _counter("heliograph_http_responses_total", "HTTP answers.", "status"),
            _counter(
                "heliograph_http_turned_away_total",
                "Refused or closed connections, and refused requests. reason is connections (refused: its "
                "address has too many), full (refused: no connection could be closed for it), unfinished "
                "(closed to make room: its request was slow), idle (closed to make room: it had no request) "
                "or share (its address has used up its share).",
                "reason",
            ),
            _counter(
                "heliograph_sign_in_failures_total",
                "Sign-ins refused. door is api (customers), console or admin_api (tokens). reason is wrong "
                "(name, password, key or token), locked (not checked, after too many failures) or "
                "second_factor (a right password with a wrong code or passkey).",
                "door",
                "reason",
            ),
            _counter(
                "heliograph_tls_handshakes_total",
                "TLS handshakes. listener is http (http.tls_listen) or smpp (smpp_server.tls_listen). outcome is done, "
                "failed (no TLS, an unsupported version, or an untrusted certificate), late (too slow, aborted, or "
                "closed to make room) or refused (closed before: its address has too many, or has used up its share).",
                "listener",
                "outcome",
            ),
            _gauge(
                "heliograph_tls_certificate_end_seconds",
                "End of the certificate in use, in seconds since 1970. listener is http or smpp.",
                "listener",
            ),
            _ms(
                "heliograph_accept_seconds",
                "Time from reading a request to its answer: the wait for the commit and the commit.",
                MS_SHORT,
            ),
        ),
    ),
    (
        "Store",
        "All events are written in group commits.",
        (
            _gauge("heliograph_store_up", "1 while the store can be read and written, 0 after a failure."),
            _gauge("heliograph_past_lost", "1 while the store is refused because it lost confirmed commits."),
            _counter("heliograph_store_failures_total", "Commits that failed and were retried."),
            _counter(
                "heliograph_store_refused_total",
                "Values that the store rejected; all else of their commit was recorded. fate is refused (a "
                "request, which got 503), reduced (recorded without the text of an operator or receiver) or "
                "dropped.",
                "fate",
            ),
            _gauge(
                "heliograph_store_unreadable_values",
                "Values, such as encrypted texts or JSON, that this process could not read, each counted once: their "
                "rows are damaged.",
            ),
            _counter(
                "heliograph_retention_messages_total",
                "Messages, outbound and inbound, that lost their text or number, or were deleted, by age; "
                "stage erasure: on request.",
                "stage",
            ),
            _counter(
                "heliograph_retention_left_total",
                "Messages that were old enough and left unchanged, because something is still pending for them.",
                "stage",
            ),
            _gauge(
                "heliograph_retention_lag_seconds",
                "Age, beyond the retention limit, of the data that are being removed now; 0 at rest.",
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
                "Parts by the operator's response: accepted, deferred (retried), refused (for good); unknown "
                "means no response.",
                "connector",
                "outcome",
            ),
            _counter(
                "heliograph_operator_errors_total",
                "Error responses, by command status (hexadecimal); statuses beyond 40 are `other`.",
                "connector",
                "code",
            ),
            _counter(
                "heliograph_throttled_total",
                "Responses that throttle (ESME_RTHROTTLED, ESME_RMSGQFUL).",
                "connector",
            ),
            _ms(
                "heliograph_queue_wait_seconds",
                "Time from the acceptance of a message, or its scheduled time, until a part of it was written.",
                MS_LONG,
                "connector",
            ),
            _ms(
                "heliograph_submit_seconds",
                "Time from writing a part to the operator's response.",
                MS_SHORT,
                "connector",
            ),
            _gauge("heliograph_connector_binds", "Configured binds.", "connector"),
            _gauge("heliograph_connector_binds_up", "Binds that are up.", "connector"),
            _gauge(
                "heliograph_connector_silent_seconds",
                "Time for which the operator has not responded to a submit_sm, on the bind with the longest; "
                "0 if no response is pending.",
                "connector",
            ),
            _gauge(
                "heliograph_connector_certificate_end_seconds",
                "End of the certificate that the operator is shown (option cert_file), in seconds since 1970.",
                "connector",
            ),
            _gauge("heliograph_connector_window", "Window slots, over all binds that are up.", "connector"),
            _gauge("heliograph_connector_in_flight", "Window slots in use.", "connector"),
            _gauge(
                "heliograph_connector_rate_limit",
                "Configured parts a second at this time of day; 0 means no limit.",
                "connector",
            ),
            _gauge(
                "heliograph_connector_rate",
                "Parts a second that may be sent now, after throttling; +Inf means no limit, 0 that nothing "
                "is sent at this time of day.",
                "connector",
            ),
            _gauge(
                "heliograph_connector_paused_seconds", "Remaining pause after throttling by the operator.", "connector"
            ),
            _gauge("heliograph_connector_queue", "Messages waiting in memory.", "connector"),
            _gauge(
                "heliograph_connector_usable",
                "1 if messages may take the connector, 0 while they take another where they can.",
                "connector",
            ),
            _gauge(
                "heliograph_connector_breaker_open",
                "1 while the operator fails most messages, and single messages test it; 0 otherwise.",
                "connector",
            ),
            _counter(
                "heliograph_failovers_total",
                "Messages that left the connector for another: after a status of `failover_on` (refused), because it "
                "could not send (unusable), after receipts of `failover_receipts` (undelivered), or back to a better "
                "connector that works again (returned).",
                "connector",
                "reason",
            ),
            _counter(
                "heliograph_number_lookups_total",
                "Numbers for the server of `routing.lookup_url`: it named the network (found) or had none (unknown), "
                "gave no usable answer in time (silent), or was not asked, because it failed too often or too many "
                "waited (left_out). Silent and left out numbers count by their prefix.",
                "result",
            ),
            _ms(
                "heliograph_number_lookup_seconds",
                "From the question about a number to its answer, or to the end of the wait.",
                MS_SHORT,
            ),
            _gauge(
                "heliograph_connector_cap_used_ratio",
                "Share of a cap that is used, over all nodes: the period is day (`max_day`) or month (`max_month`).",
                "connector",
                "period",
            ),
        ),
    ),
    (
        "Receipts",
        "From operators.",
        (
            _counter(
                "heliograph_receipts_total",
                "Receipts by result: matched; repeated; early (kept, because their message is unknown so "
                "far); late_match (early receipts matched later).",
                "result",
            ),
            _counter("heliograph_receipts_received_total", "Receipts received, matched or not.", "connector"),
            _counter(
                "heliograph_receipts_put_off_total",
                "Receipts that the operator was asked to send again, because they could not be stored.",
                "connector",
            ),
            _counter("heliograph_receipts_unreadable_total", "Receipts without an id.", "connector"),
            _counter(
                "heliograph_receipt_queries_total",
                "Queries by query_sm about parts without a receipt: asked; told (answered with a state).",
                "connector",
                "result",
            ),
            _ms(
                "heliograph_receipt_delay_seconds",
                "Time from the operator's acceptance of a message to its last receipt.",
                MS_LONG,
            ),
            _gauge("heliograph_receipts_awaited", "Parts in memory that await a receipt."),
        ),
    ),
    (
        "Inbound",
        "Messages from phones, through operators. Each is counted once, even if an operator repeats it.",
        (
            _counter(
                "heliograph_inbound_messages_total",
                "Inbound messages stored: routed (to the account of their number) or unrouted.",
                "connector",
                "result",
            ),
            _counter("heliograph_inbound_parts_total", "Parts of inbound messages stored.", "connector"),
            _counter(
                "heliograph_inbound_incomplete_total",
                "Messages with missing parts, stored without them.",
                "connector",
            ),
            _counter(
                "heliograph_inbound_national_numbers_total",
                "Messages and parts from national numbers that no inbound_country of the connector makes "
                "international: STOP and erasure cannot identify such a phone.",
                "connector",
            ),
            _ms(
                "heliograph_inbound_commit_seconds",
                "Time from reading a whole message until it was on disk and the operator had its answer.",
                MS_SHORT,
            ),
            _counter(
                "heliograph_opt_outs_total",
                "Texts to accounts with opt_out on: stop, start, yes, help; suspected (such a word among others).",
                "wish",
            ),
            _counter(
                "heliograph_phone_answers_withheld_total",
                "Answers to phones that were not sent: stop_again, help_again (a phone's repeated texts), prefix (the "
                "account must not send there), hour (messages.answers_per_hour), loop (messages.replies_per_phone).",
                "reason",
            ),
        ),
    ),
    (
        "Callbacks",
        "To customers.",
        (
            _gauge("heliograph_esme_bound", "SMPP clients of customers that are bound to this node."),
            _counter("heliograph_esme_binds_total", "Answers to binds of SMPP clients.", "status"),
            _counter("heliograph_esme_submits_total", "Answers to submissions of SMPP clients.", "status"),
            _counter(
                "heliograph_esme_deliveries_total",
                "SMPP clients' answers to receipts and phones' messages; `none` for no answer.",
                "status",
            ),
            _gauge(
                "heliograph_esme_oldest_parked_seconds",
                "Age of the oldest receipt or phone's message that waits although its account has a receiver bound to "
                "this node; 0 for none.",
            ),
            _counter(
                "heliograph_callbacks_total", "Callbacks that have ended: delivered, gone (410) or failed.", "result"
            ),
            _counter("heliograph_callback_retries_total", "Attempts that failed and will be retried."),
            _ms(
                "heliograph_callback_seconds",
                "Time from a callback's first due time to its delivery.",
                MS_LONG,
            ),
            _gauge("heliograph_callbacks_in_the_air", "Callbacks in flight."),
        ),
    ),
    (
        "Backlog",
        "Read from the store every 15 seconds, not at every scrape; counts stop at 100,000.",
        (
            _gauge("heliograph_queue_messages", "Messages due in the queue's rows, beyond those in memory."),
            _gauge(
                "heliograph_queue_oldest_seconds",
                "Time for which the oldest sendable message has been due, in memory or in the rows.",
            ),
            _gauge(
                "heliograph_deferred_messages",
                "Messages that wait for a retry, because the operator did not accept them yet, or did not answer.",
                "connector",
            ),
            _gauge("heliograph_scheduled_messages", "Messages scheduled for later."),
            _gauge("heliograph_guard_holds", "Pairs of account and prefix with messages held by the pumping guard."),
            _gauge(
                "heliograph_guard_suspicions",
                "Pairs of account and prefix that it would hold in the mode hold; it observed them in the last day.",
            ),
            _gauge(
                "heliograph_held_messages",
                "Held messages by reason: administrator, guard (the pumping guard), suspended (the account is). They "
                "are in no other gauge of waiting messages.",
                "reason",
            ),
            _gauge("heliograph_awaiting_parts", "Parts in rows that await a receipt."),
            _gauge("heliograph_callbacks_pending", "Callbacks that wait for their next attempt."),
            _gauge("heliograph_callbacks_failed", "Callbacks that failed for good, or got 410."),
            _gauge("heliograph_unmatched_receipts", "Receipts of the last seven days that match no message."),
            _gauge("heliograph_backlog_refreshed_seconds", "Time at which this section was read, in Unix seconds."),
        ),
    ),
    (
        "Money",
        "In credits.",
        (
            _gauge("heliograph_balance_credits", "Sum of all accounts' balances; read every 15 seconds."),
            _gauge("heliograph_accounts", "Accounts; read every 15 seconds."),
            _counter("heliograph_charged_credits_total", "Credits charged for accepted messages since the start."),
            _counter(
                "heliograph_refunded_credits_total",
                "Credits refunded since the start for messages that never left, without cancelled messages "
                "and messages withdrawn by an opt-out.",
            ),
            _gauge(
                "heliograph_margin_credits",
                "Prices less costs, of segments that the operator took; both costs count, as if they were delivered. "
                "Counted while a plan has `min_margin`, `unknown_cost=refuse` or `routing=best`, and absent otherwise: "
                "costs are then not in memory.",
                "connector",
            ),
            _counter(
                "heliograph_margin_unknown_parts_total",
                "Segments without a known cost, which `heliograph_margin_credits` lacks.",
                "connector",
            ),
        ),
    ),
    (
        "Process",
        "Under the names that other programs use.",
        (
            _gauge("heliograph_build_info", "Always 1; the labels have the versions.", "version", "python"),
            _counter("process_cpu_seconds_total", "Processor time, user and system."),
            _gauge("process_resident_memory_bytes", "Resident memory."),
            _gauge("process_open_fds", "Open file descriptors."),
            _gauge("process_max_fds", "Most file descriptors that may be open."),
            _gauge("process_start_time_seconds", "Start of the process, in Unix seconds."),
            _counter("python_gc_collections_total", "Garbage collections.", "generation"),
        ),
    ),
)

METRICS: dict[str, Metric] = {metric.name: metric for _, _, metrics in SECTIONS for metric in metrics}
"""All metrics by name."""
