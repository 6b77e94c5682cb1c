"""The pages of the menu, with their names, scopes and shortcuts."""

from dataclasses import dataclass

from heliograph.app.records import Scope


@dataclass(frozen=True, slots=True)
class MenuPage:
    """A page of the menu."""

    path: str
    name: str
    scope: Scope
    """The scope that a user needs to see it."""
    key: str = ""
    """The shortcut is `g` and this key."""
    words: str = ""
    """Further words that the search finds the page by, for example `gdpr` for *One phone*."""
    dev: bool = False
    """True if only a development run has the page."""
    rare: bool = False
    """True if it is below *More* of its group, such as the erasure of a phone."""

    def matches(self, text: str) -> bool:
        """Returns True if the name contains `text`, or a further word begins with it. Case does not matter."""
        wanted = text.casefold()
        return wanted in self.name.casefold() or any(word.startswith(wanted) for word in self.words.split())


GROUPS: tuple[tuple[str, tuple[MenuPage, ...]], ...] = (
    (
        "Messages",
        (
            MenuPage("/", "Overview", Scope.READ_MESSAGES, "o", "home dashboard start"),
            MenuPage("/messages", "Messages", Scope.READ_MESSAGES, "m", "sms outbound history"),
            MenuPage("/inbound", "Inbound", Scope.READ_MESSAGES, "i", "mo received replies"),
            MenuPage("/send", "Send", Scope.SEND, "s", "compose list campaign csv"),
            MenuPage("/lists", "Sending lists", Scope.READ_MESSAGES, "", "campaigns broadcasts bulk pause"),
            MenuPage("/queue", "Queue", Scope.READ_MESSAGES, "w", "waiting backlog move hold cancel"),
            MenuPage("/reports", "Reports", Scope.READ_REPORTS, "p", "charts statistics figures"),
            MenuPage("/refusals", "Refused requests", Scope.READ_MESSAGES, "q", "errors rejected api"),
        ),
    ),
    (
        "Customers",
        (
            MenuPage("/accounts", "Accounts", Scope.READ_ACCOUNTS, "a", "customers credit balance ledger keys"),
            MenuPage("/binds", "Binds", Scope.READ_ACCOUNTS, "b", "smpp clients esme sessions"),
            MenuPage("/callbacks", "Callbacks", Scope.READ_CALLBACKS, "k", "webhooks receivers receipts"),
            MenuPage("/senders", "Senders", Scope.READ_ACCOUNTS, "", "sender ids registry"),
            MenuPage("/suppressions", "Suppressions", Scope.READ_MESSAGES, "u", "opt-out stop blocked unsubscribe"),
            MenuPage("/guard", "Pumping guard", Scope.READ_MESSAGES, "", "fraud traffic ait held"),
        ),
    ),
    (
        "Routing",
        (
            MenuPage("/connectors", "Connectors", Scope.READ_CONNECTORS, "c", "operators binds smpp smsc"),
            MenuPage("/routing", "Routes", Scope.READ_ROUTES, "r", "routing prefixes failover"),
            MenuPage("/coverage", "Coverage", Scope.READ_ROUTES, "v", "destinations holes margin loss"),
            MenuPage("/numbers", "Numbers", Scope.READ_ROUTES, "n", "keywords short codes"),
            MenuPage("/networks", "Networks", Scope.READ_ROUTES, "", "mobile mccmnc numbering", rare=True),
            MenuPage("/sender-rules", "Sender rules", Scope.READ_ROUTES, "", "country alphanumeric replace", rare=True),
            MenuPage("/templates", "Templates", Scope.READ_ROUTES, "t", "dlt registered texts", rare=True),
            MenuPage("/simulator", "Simulator", Scope.READ_MESSAGES, "", "knobs pretend operator", dev=True),
        ),
    ),
    (
        "Money",
        (
            MenuPage("/prices", "Prices", Scope.READ_PRICES, "e", "pricing rates plans tariffs"),
            MenuPage("/plans", "Plans", Scope.READ_PRICES, "", "margin quality tariffs rules"),
            MenuPage("/costs", "Costs", Scope.READ_PRICES, "", "margin operators rates"),
            MenuPage("/margin", "Margin", Scope.READ_PRICES, "", "profit loss revenue costs"),
        ),
    ),
    (
        "Administration",
        (
            MenuPage("/people", "People and tokens", Scope.PEOPLE, "", "users roles administrators"),
            MenuPage("/audit", "Audit log", Scope.READ_AUDIT, "l", "changes trail"),
            MenuPage("/nodes", "Nodes", Scope.READ_CONNECTORS, "", "gateways processes machines lease", rare=True),
            MenuPage("/recipients", "One phone", Scope.ERASE, "", "privacy gdpr erase export", rare=True),
            MenuPage("/security", "Security", Scope.READ_MESSAGES, "", "second factor passkeys totp"),
            MenuPage("/password", "Change password", Scope.READ_MESSAGES),
        ),
    ),
)
"""The groups of the menu, in its order."""

MENU: tuple[MenuPage, ...] = tuple(page for _, pages in GROUPS for page in pages)

OWN = ("/security", "/password")
"""Pages about the user, which have links below the menu."""
