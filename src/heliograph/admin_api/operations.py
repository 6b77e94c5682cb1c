"""The operations of the admin API, of all resources. The dispatcher and the OpenAPI document are drawn from them."""

from collections.abc import Mapping

from heliograph.admin_api.drawn import operations_of
from heliograph.admin_api.operation import AdminOperation
from heliograph.app.connector_kind import ConnectorKind
from heliograph.app.resources.accounts import ACCOUNTS, LEDGER
from heliograph.app.resources.attention import ATTENTION
from heliograph.app.resources.audit import AUDIT
from heliograph.app.resources.binds import BINDS
from heliograph.app.resources.callbacks import CALLBACKS
from heliograph.app.resources.connectors import connectors_of
from heliograph.app.resources.costs import COSTS
from heliograph.app.resources.coverage import COVERAGE
from heliograph.app.resources.description import Resource
from heliograph.app.resources.guard import GUARD
from heliograph.app.resources.inbound import INBOUND
from heliograph.app.resources.keys import KEYS
from heliograph.app.resources.messages import MESSAGES
from heliograph.app.resources.networks import NETWORKS
from heliograph.app.resources.nodes import NODES
from heliograph.app.resources.numbers import NUMBERS
from heliograph.app.resources.overview import OVERVIEW
from heliograph.app.resources.plans import PLANS
from heliograph.app.resources.prices import PRICES
from heliograph.app.resources.queue import QUEUE
from heliograph.app.resources.recipients import RECIPIENTS
from heliograph.app.resources.refusals import REFUSALS
from heliograph.app.resources.reports import REPORTS
from heliograph.app.resources.routes import ROUTES
from heliograph.app.resources.sender_rules import SENDER_RULES
from heliograph.app.resources.senders import SENDERS
from heliograph.app.resources.sending_lists import SENDING_LISTS
from heliograph.app.resources.suppressions import SUPPRESSIONS
from heliograph.app.resources.templates import TEMPLATES

RESOURCES: tuple[Resource, ...] = (
    OVERVIEW,
    ATTENTION,
    ACCOUNTS,
    LEDGER,
    KEYS,
    SUPPRESSIONS,
    SENDERS,
    SENDER_RULES,
    ROUTES,
    COVERAGE,
    NETWORKS,
    PLANS,
    PRICES,
    COSTS,
    NUMBERS,
    TEMPLATES,
    BINDS,
    CALLBACKS,
    GUARD,
    QUEUE,
    SENDING_LISTS,
    REFUSALS,
    NODES,
    AUDIT,
    INBOUND,
    MESSAGES,
    RECIPIENTS,
    REPORTS,
)
"""All resources that do not depend on the kinds of connectors."""


def operations(kinds: Mapping[str, ConnectorKind]) -> tuple[AdminOperation, ...]:
    """Returns all operations. Bodies and answers of connectors depend on the kinds that there are."""
    resources = (*RESOURCES, connectors_of(kinds))
    return tuple(each for resource in resources for each in operations_of(resource))
