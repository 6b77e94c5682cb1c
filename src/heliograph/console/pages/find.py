"""Search from everywhere: leads to the thing that is meant, or lists the things that it may be."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from heliograph.app.records import Hit, InboundQuery, InboundRecord, Scope, Search
from heliograph.app.resources import messages
from heliograph.app.resources.desk import NoSuch
from heliograph.app.resources.inbound import look
from heliograph.console.menu import MENU, MenuPage
from heliograph.console.request import PageRequest, PageResponse, PageRoute
from heliograph.domain.message import ids
from heliograph.domain.numbers.phone import number_of

PATH = "/find"
MOST = 10
"""Most things of a kind that are shown."""

MAX_CHARS = 200
"""Characters of the text that are heeded."""

SUGGESTED = 8
"""Most suggestions while somebody types."""

OF_A_KIND = 3
"""Most suggestions of a kind."""

INDEXED_DIGITS = 7
"""Digits from which on messages are found by the blocks of their numbers alone."""

FEWEST_DIGITS = 3
"""Digits from which on a number is looked for."""


@dataclass(slots=True)
class Findings:
    """Things that a text may mean to a visitor, at most `MOST` of a kind; `exact` has the paths of its namesakes."""

    pages: Sequence[MenuPage] = ()
    accounts: list[str] = field(default_factory=list)
    connectors: list[str] = field(default_factory=list)
    hits: list[Hit] = field(default_factory=list)
    more_hits: bool = False
    inbound: list[InboundRecord] = field(default_factory=list)
    number: str = ""
    exact: list[str] = field(default_factory=list)

    @property
    def empty(self) -> bool:
        return not (self.pages or self.accounts or self.connectors or self.hits or self.inbound or self.number)


async def find(request: PageRequest) -> PageResponse:
    text = request.query.get("q", "").strip()[:MAX_CHARS]
    found = await _find(request, text) if text else Findings()
    if len(found.exact) == 1:
        return request.go(found.exact[0])
    names = await request.desk.account_names() if found.hits or found.inbound else {}
    return request.page("find.html", text=text, found=found, accounts=names, most=MOST)


async def _find(request: PageRequest, text: str) -> Findings:
    found = Findings()
    named = await _find_names(request, found, text)
    found.exact = [path for name, path in named if name.casefold() == text.casefold()]
    id_ = ids.parse(text)
    if id_ is not None:
        await _find_id(request, found, text, *id_)
        return found
    digits = number_of(text)
    if digits.isascii() and digits.isdigit() and FEWEST_DIGITS <= len(digits) <= 15:
        found.number = digits
        found.inbound = await request.desk.store.inbound.find(InboundQuery(None, digits, None, MOST))
    if found.number or not (digits.isdigit() and len(digits) < FEWEST_DIGITS):
        page = await messages.find(request.desk, text, Search(limit=MOST))
        found.hits, found.more_hits = page.hits, page.more is not None
    return found


async def _find_names(request: PageRequest, found: Findings, text: str) -> list[tuple[str, str]]:
    """Fills in what has `text` in its name; returns the names and paths of all of that."""
    wanted = text.casefold()
    dev = request.services.simulated is not None
    found.pages = [page for page in MENU if (dev or not page.dev) and request.may(page.scope) and page.matches(text)]
    named = [(page.name, page.path) for page in found.pages]
    if request.may(Scope.READ_ACCOUNTS):
        found.accounts = await request.desk.store.account_names.containing(text, MOST)
        named += [(name, f"/accounts/{name}") for name in found.accounts]
    if request.may(Scope.READ_CONNECTORS):
        names = [each for each in sorted((await request.desk.connector_names()).values()) if wanted in each.casefold()]
        named += [(name, f"/connectors/{name}") for name in names]
        found.connectors = sorted(names, key=lambda name: (not name.casefold().startswith(wanted), name))[:MOST]
    return named


async def _find_id(request: PageRequest, found: Findings, text: str, key: int, tail: int) -> None:
    page = await messages.find(request.desk, text, Search(limit=MOST))
    found.hits, found.more_hits = page.hits, page.more is not None
    paths = [f"/messages/{ids.to_hex(hit.message.key, hit.message.tail)}" for hit in page.hits]
    itself = f"/messages/{ids.to_hex(key, tail)}"
    if len(paths) == 1 or itself in paths:
        found.exact.append(itself if itself in paths else paths[0])
    try:
        found.inbound = [await look(request.desk, ids.to_hex(key, tail))]
        found.exact.append(f"/inbound/{ids.to_hex(key, tail)}")
    except NoSuch:
        pass


@dataclass(frozen=True, slots=True)
class Suggestion:
    """A place that a text may mean."""

    text: str
    """The name, number or id."""
    kind: str
    """Its kind, for example `Account`."""
    path: str
    query: dict[str, str] = field(default_factory=dict)


async def suggest(request: PageRequest) -> PageResponse:
    """The piece with the suggestions for the text so far. Each look-up has a limit, and is by an index or by names."""
    text = request.query.get("q", "").strip()[:MAX_CHARS]
    found = await _suggestions(request, text) if text else []
    return request.page("find_suggest.html", suggestions=found[:SUGGESTED])


async def _suggestions(request: PageRequest, text: str) -> list[Suggestion]:
    names = Findings()
    await _find_names(request, names, text)
    found = [Suggestion(name, "Account", f"/accounts/{name}") for name in names.accounts[:OF_A_KIND]]
    found += [Suggestion(name, "Connector", f"/connectors/{name}") for name in names.connectors[:OF_A_KIND]]
    found += [Suggestion(page.name, "Page", page.path) for page in names.pages[:OF_A_KIND]]
    id_ = ids.parse(text)
    if id_ is not None:
        await _find_id(request, names, text, *id_)
        kinds = {"messages": "Message", "inbound": "Message from a phone"}
        places = [(*path.split("/")[1:], path) for path in names.exact]
        return [Suggestion(id_of, kinds[kind], path) for kind, id_of, path in places] + found
    digits = number_of(text)
    if not (digits.isascii() and digits.isdigit() and FEWEST_DIGITS <= len(digits) <= 15):
        return found
    numbers = [digits]
    if len(digits) >= INDEXED_DIGITS:
        page = await request.desk.store.messages.search(Search(number=digits, limit=OF_A_KIND))
        numbers = sorted({hit.message.destination for hit in page.hits if hit.message.destination} | {digits})
    to = [Suggestion(number, "Messages to it", "/messages", {"q": number}) for number in numbers[:OF_A_KIND]]
    return [*to, Suggestion(digits, "Messages from it", "/inbound", {"q": digits}), *found]


PAGES = (
    PageRoute("GET", PATH, Scope.READ_MESSAGES, find),
    PageRoute("GET", f"{PATH}/suggest", Scope.READ_MESSAGES, suggest),
)
