"""The operations of the admin API: those of resources, and others with path, scope, bodies and function. The dispatcher
and the OpenAPI document are drawn from this table."""

from collections.abc import Mapping

from heliograph.admin_api import (
    recipient_shapes,
    recipients,
    report_shapes,
    reports,
    shapes,
    traffic,
)
from heliograph.admin_api.drawn import operations_of
from heliograph.admin_api.operation import AdminOperation, QueryParameter
from heliograph.app.admin.report_steps import RANGES
from heliograph.app.admin.reports import DEFAULT_RANGE
from heliograph.app.connector_kind import ConnectorKind
from heliograph.app.records import Scope
from heliograph.app.resources.accounts import ACCOUNTS, LEDGER
from heliograph.app.resources.audit import AUDIT
from heliograph.app.resources.binds import BINDS
from heliograph.app.resources.callbacks import CALLBACKS
from heliograph.app.resources.connectors import connectors_of
from heliograph.app.resources.description import Resource
from heliograph.app.resources.guard import GUARD
from heliograph.app.resources.inbound import INBOUND
from heliograph.app.resources.keys import KEYS
from heliograph.app.resources.numbers import NUMBERS
from heliograph.app.resources.prices import PRICES
from heliograph.app.resources.refusals import REFUSALS
from heliograph.app.resources.routes import ROUTES
from heliograph.app.resources.senders import SENDERS
from heliograph.app.resources.suppressions import SUPPRESSIONS
from heliograph.app.resources.templates import TEMPLATES
from heliograph.domain.error import CONFLICT, INVALID, NOT_FOUND
from heliograph.domain.message.status import MessageStatus

_PAGE = QueryParameter("limit", "Messages at most.", {"type": "integer", "minimum": 1, "maximum": traffic.PAGE})
_GOES_ON = "Goes on after an earlier answer: its `cursor`."
_CURSOR = QueryParameter("cursor", _GOES_ON, {"type": "string", "pattern": "^([0-9]{1,18}-[0-9]{1,18})?$"})
_STATUSES = [each.value for each in MessageStatus]
_STATUS = QueryParameter("status", "How far they are.", {"type": "string", "enum": _STATUSES})
_TRUTH = {"type": "string", "enum": ["true", "false"]}
_NUMBER = {"type": "string", "pattern": "^[1-9][0-9]{6,14}$"}
_MOMENT = {"type": "string", "format": "date-time"}

RESOURCES: tuple[Resource, ...] = (
    ACCOUNTS,
    LEDGER,
    KEYS,
    SUPPRESSIONS,
    SENDERS,
    ROUTES,
    PRICES,
    NUMBERS,
    TEMPLATES,
    BINDS,
    CALLBACKS,
    GUARD,
    REFUSALS,
    AUDIT,
    INBOUND,
)
"""All resources that do not depend on the kinds of connectors."""

_FIRST: tuple[AdminOperation, ...] = (
    AdminOperation("GET", "/overview", Scope.READ_MESSAGES, "How much waits, and which connectors are up",
        traffic.overview, shapes.Overview),
)  # fmt: skip

_LAST: tuple[AdminOperation, ...] = (
    AdminOperation("GET", "/audit/head", Scope.READ_AUDIT, "The end of the audit log, to be kept elsewhere",
        traffic.audit_head, shapes.AuditHeadShape),
    # one phone
    AdminOperation("POST", "/recipients/erase", Scope.ERASE, "Erase what is kept of a phone, with a report",
        recipients.erase, recipient_shapes.ErasureShape, recipient_shapes.ErasureOrder, (), (INVALID, NOT_FOUND)),
    AdminOperation("POST", "/recipients/export", Scope.EXPORT, "Everything that is kept of a phone",
        recipients.export, recipient_shapes.RecipientShape, recipient_shapes.RecipientOrder, (), (INVALID, NOT_FOUND)),
    AdminOperation("GET", "/reports", Scope.READ_REPORTS, "What was sent, delivered and spent, and how long it took",
        reports.get_report, report_shapes.ReportShape, None,
        (QueryParameter("range", "How far back.",
            {"type": "string", "enum": list(RANGES), "default": DEFAULT_RANGE}),
         QueryParameter("account", "Only this account's."),
         QueryParameter("connector", "Only by way of this connector."),
         QueryParameter("country", "Only to and from this country.",
            {"type": "string", "pattern": "^([A-Za-z]{2})?$"}),
         QueryParameter("zone", "Time zone by its IANA name: whose days these are, and in which times are told.",
            {"type": "string", "default": "UTC"})),
        (INVALID, NOT_FOUND)),
    AdminOperation("GET", "/decision", Scope.READ_ROUTES, "Where a number would go and what a segment would cost",
        traffic.decide, shapes.DecisionShape, None,
        (QueryParameter("number", "Digits in international form.", _NUMBER, required=True),
         QueryParameter("account", "For whom: prices depend on it.", required=True)), (INVALID, NOT_FOUND)),
    # messages
    AdminOperation("GET", "/messages", Scope.READ_MESSAGES, "Find messages, the newest first",
        traffic.search, shapes.MessagesShape, None,
        (QueryParameter("number", "The destination or its beginning. It is looked for in the order of time, among "
                                   "a million messages at once: narrow it by account or time.",
                         {"type": "string", "pattern": "^([0-9]{1,15})?$"}),
         QueryParameter("reference", "What a request gave as its reference."),
         QueryParameter("account", "The account's name."),
         _STATUS,
         QueryParameter("connector", "Name of the connector that they went to, or are to go to."),
         QueryParameter("error", "State and code of the final state of what was not delivered, or one of them: "
                                 "`UNDELIV 011`."),
         QueryParameter("sender", "The sender, whole; in any case."),
         QueryParameter("country", "Country of the destination, as in ISO 3166-1 with two letters."),
         QueryParameter("held", "`true`: only those that the pumping guard holds.", _TRUTH),
         QueryParameter("start", "From this time on, ISO 8601 with Z or an offset.", _MOMENT),
         QueryParameter("end", "Up to this time.", _MOMENT),
         _PAGE, _CURSOR), (INVALID, NOT_FOUND)),
    AdminOperation("GET", "/messages/{id}", Scope.READ_MESSAGES, "One message and all that happened to it",
        traffic.get_message, shapes.MessageInFull, None, (), (NOT_FOUND,)),
    AdminOperation("POST", "/messages/{id}/cancel", Scope.WRITE_MESSAGES, "Cancel a scheduled message and refund it",
        traffic.cancel, shapes.DoneShape, None, (), (NOT_FOUND, CONFLICT)),
    AdminOperation("POST", "/messages/{id}/reschedule", Scope.WRITE_MESSAGES, "Move a scheduled message",
        traffic.reschedule, shapes.DoneShape, shapes.NewTime, (), (INVALID, NOT_FOUND, CONFLICT)),
)  # fmt: skip


def operations(kinds: Mapping[str, ConnectorKind]) -> tuple[AdminOperation, ...]:
    """Returns all operations. Bodies and answers of connectors depend on the kinds that there are."""
    drawn = (each for resource in (*RESOURCES, connectors_of(kinds)) for each in operations_of(resource))
    return *_FIRST, *drawn, *_LAST
