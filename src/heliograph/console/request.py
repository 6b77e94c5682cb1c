"""A request to the console, the services of its pages, and their responses."""

import json
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from http.cookies import SimpleCookie
from typing import Any, Protocol
from urllib.parse import quote, urlencode

from heliograph.admin_api.dispatch import Dispatcher
from heliograph.admin_api.drawn import operations_of
from heliograph.admin_api.request import AdminServices
from heliograph.app.admin.second_factors import ManageFactors
from heliograph.app.admin.second_step import PasskeyAnswer
from heliograph.app.observing.refusals import Refusals
from heliograph.app.ports import Clock, Secrets
from heliograph.app.records import ExportFormat, Scope, UserRole
from heliograph.app.resources.description import Resource
from heliograph.app.resources.desk import Actor, AlreadyThere, Desk, Invalid, NoSuch
from heliograph.app.sending.directory import Directory
from heliograph.app.sending.send import Sending
from heliograph.console import PATH
from heliograph.console.render import Renderer
from heliograph.console.sent_lists import ListRuns
from heliograph.domain.error import FORBIDDEN, NOT_FOUND, Fault
from heliograph.http.asgi import Headers
from heliograph.runtime.recent_activity import RecentActivity

SESSION_COOKIE = "heliograph_session"
NOTICE_COOKIE = "heliograph_notice"
THEME_COOKIE = "heliograph_theme"
SECURE_SESSION_COOKIE = f"__Host-{SESSION_COOKIE}"
"""Name of a session's cookie over TLS. Browsers take one of such a name over TLS alone, and from no other host of the
domain: nobody can put a session of his own under somebody's hands."""
ZONE_COOKIE = "heliograph_zone"
COOKIES = (SESSION_COOKIE, SECURE_SESSION_COOKIE, NOTICE_COOKIE, THEME_COOKIE, ZONE_COOKIE)
THEMES = ("light", "dark")


@dataclass(slots=True)
class SimulatedMessage:
    """A message that the simulated operator took."""

    at: int
    sender: str
    destination: str
    text: str
    parts: int
    total: int
    state: str
    err: int


@dataclass(slots=True)
class KnobView:
    """One knob of the simulated operator, its value as text."""

    name: str
    value: str
    what: str
    unit: str
    default: str
    group: str


class SimulatorControl(Protocol):
    """The simulated operator of a development run."""

    def recent(self, limit: int) -> list[SimulatedMessage]: ...

    def counters(self) -> dict[str, int]: ...

    def knobs(self) -> list[KnobView]: ...

    def turn(self, texts: Mapping[str, str]) -> None:
        """Sets knobs, all or none. Raises ValueError with a sentence for people."""

    def cut_links(self) -> None: ...

    def send_from_phone(self, phone: str, number: str, text: str) -> int:
        """Sends a message from a phone; returns the number of its parts. Raises ValueError with a sentence for
        people."""


@dataclass(slots=True)
class ConsoleServices:
    """The services of the console's pages. `status_name` returns the name of a command status."""

    admin: AdminServices
    factors: ManageFactors
    directory: Directory
    sending: Sending
    refusals: Refusals
    clock: Clock
    secrets: Secrets
    pulse: RecentActivity
    status_name: Callable[[int], str]
    simulated: SimulatorControl | None = None


def session_cookie(*, secure: bool) -> str:
    """Returns the name of a session's cookie, `secure` where pages come over TLS."""
    return SECURE_SESSION_COOKIE if secure else SESSION_COOKIE


@dataclass(slots=True)
class PageResponse:
    status: int
    body: bytes = b""
    headers: Headers = field(default_factory=list)
    kind: str = "text/html; charset=utf-8"
    pieces: AsyncGenerator[bytes] | None = None
    """The body piece by piece, instead of `body`."""

    def session(self, token: str, *, secure: bool, seconds: int) -> None:
        """Sets the session's cookie; 0 seconds takes it away."""
        self.cookie(session_cookie(secure=secure), token, secure=secure, seconds=seconds)

    def cookie(self, name: str, value: str, *, secure: bool, seconds: int | None = None, script: bool = False) -> None:
        """Sets a cookie; 0 seconds takes it away. `script`: ours may read it."""
        jar: SimpleCookie = SimpleCookie()
        jar[name] = value
        morsel = jar[name]
        # browsers want / with that prefix
        morsel["path"] = "/" if name.startswith("__Host-") else PATH
        morsel["samesite"] = "Strict"
        if seconds is not None:
            morsel["max-age"] = str(seconds)
        if not script:
            morsel["httponly"] = True
        if secure:
            morsel["secure"] = True
        self.headers.append((b"set-cookie", morsel.OutputString().encode()))


@dataclass(slots=True)
class FormProblem:
    """A mistake in a form: a sentence, and the field at fault."""

    text: str
    field: str = ""


def csv_file(name: str, body: bytes | AsyncGenerator[bytes]) -> PageResponse:
    """Returns a CSV file of that name to download; see `written_file`."""
    return written_file(name, body, ExportFormat.CSV.content_type)


def written_file(name: str, body: bytes | AsyncGenerator[bytes], kind: str) -> PageResponse:
    """Returns a file of that name to download; one that comes in pieces is written while it is sent."""
    headers = [(b"content-disposition", f'attachment; filename="{name}"'.encode())]
    if isinstance(body, bytes):
        return PageResponse(200, body, headers, kind)
    return PageResponse(200, headers=headers, kind=kind, pieces=body)


Mistake = (Fault, Invalid, NoSuch, AlreadyThere)
"""Exceptions for mistakes of the user."""


def problem_of(mistake: Exception) -> FormProblem:
    """Returns what a form says of a mistake. A lack of scopes is none of the form's: it is raised again."""
    if isinstance(mistake, Fault):
        if mistake.entry is FORBIDDEN:
            raise mistake
        return FormProblem(mistake.message, mistake.field or "")
    text = str(mistake)
    if isinstance(mistake, Invalid):
        name, _, rest = text.partition(": ")
        return FormProblem(f"{name.replace('_', ' ').capitalize()}: {rest}.", mistake.field)
    return FormProblem(f"{text}.")


@dataclass(slots=True)
class PageRequest:
    """A request of a signed-in user who has the page's scope."""

    services: ConsoleServices
    renderer: Renderer
    lists: ListRuns
    actor: Actor
    here: str
    """The path."""
    path: Mapping[str, str]
    query: Mapping[str, str]
    form: Mapping[str, str]
    forms: Mapping[str, list[str]]
    """Every value of each field."""
    theme: str
    zone: str
    """IANA name of the time zone of whoever looks, which the console's script keeps in a cookie; `UTC` without."""
    secure: bool
    host: str
    """The name in the address of the page, without its port."""
    notice: str = ""

    @property
    def desk(self) -> Desk:
        return self.services.admin.desk.acting_for(self.actor)

    async def ask(self, resource: Resource, operation: str, given: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """Runs an operation of the admin API in the name of the user, with these JSON values. Returns the JSON object.
        Raises Fault."""
        dispatcher = Dispatcher(operations_of(resource), self.services.admin.desk)
        answer: dict[str, Any] = await dispatcher.ask(self.actor, resource.operation(operation).asked(given or {}))
        return answer

    async def account_names(self) -> list[str]:
        """Returns the names of all accounts, in their order."""
        return sorted((await self.desk.account_names()).values())

    @property
    def factors(self) -> ManageFactors:
        return self.services.factors.acting_as(self.actor.name, self.actor.address)

    @property
    def now(self) -> int:
        return self.services.clock.now()

    @property
    def had(self) -> dict[str, str]:
        """The texts that the form began with, by field; empty if the form does not tell."""
        try:
            found = json.loads(self.form.get("had", "{}"))
        except (ValueError, RecursionError):
            return {}
        return {name: str(text) for name, text in found.items()} if isinstance(found, dict) else {}

    def changed(self, before: Mapping[str, str]) -> dict[str, str]:
        """Returns the fields of the form whose texts differ from those that it began with, by default from `before`.
        Other fields stay as another administrator may have set them in the meantime."""
        began = {**before, **self.had}
        given = {name: self.form[name].strip() for name in before if name in self.form}
        return {name: text for name, text in given.items() if text != began[name]}

    def may(self, scope: Scope) -> bool:
        return self.actor.may(scope)

    def page(self, template: str, *, status: int = 200, **values: Any) -> PageResponse:
        """A page, or a piece of one."""
        body = self.renderer.render(
            template,
            me=self.actor,
            may=self._may,
            here=self.here,
            theme=self.theme,
            notice=self.notice,
            now=self.now,
            dev=self.services.simulated is not None,
            admin=self.actor.role is UserRole.ADMIN,
            link=link,
            **values,
        )
        response = PageResponse(status, body)
        if self.notice:
            response.cookie(NOTICE_COOKIE, "", secure=self.secure, seconds=0)
        return response

    def go(self, path: str, notice: str = "", **query: str) -> PageResponse:
        """To another page, which shows the notice once."""
        response = PageResponse(303, headers=[(b"location", link(path, **query).encode())])
        if notice:
            response.cookie(NOTICE_COOKIE, quote(notice), secure=self.secure, seconds=60)
        return response

    def _may(self, scope: str) -> bool:
        return self.actor.may(Scope(scope))


@dataclass(frozen=True, slots=True)
class PageRoute:
    """The handler of a path below PATH, and the scope that it takes; `{name}` stands for one segment."""

    method: str
    path: str
    scope: Scope
    run: Callable[[PageRequest], Awaitable[PageResponse]]
    exports: bool = False
    """Whether it reads so much that it counts as an export, such as a file; see `Exports`."""
    again: "Callable[[PageRequest, FormProblem], Awaitable[PageResponse]] | None" = None
    """Shows the page with the form again after a mistake of the user; None for the page of the mistake alone."""

    async def reply(self, request: PageRequest) -> PageResponse:
        """Runs the handler. Raises Fault, and the store's Unavailable."""
        try:
            return await self.run(request)
        except Mistake as mistake:
            if self.again is None:
                raise
            return await self.again(request, problem_of(mistake))


def link(path: str, **query: object) -> str:
    """A path of the console with a query; what is empty is left out."""
    given = {name: str(value) for name, value in query.items() if value not in (None, "")}
    return f"{PATH}{quote(path)}" + (f"?{urlencode(given)}" if given else "")


def who_did(actor: str) -> str:
    """Returns how people call an actor of the audit log."""
    kind, _, name = actor.partition(":")
    return f"{name} at the command line" if kind == "cli" else name or actor


def passkey_answer(host: str, text: str) -> PasskeyAnswer:
    """Reads what the console's script made of a passkey's answer. What is no JSON object proves nothing."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        found = None
    return PasskeyAnswer(host, found if isinstance(found, dict) else {})


def minute_of(text: str, field: str) -> int | None:
    """Reads a minute in UTC, as a field of the browser has it, as ms; None if it is empty. Raises Fault."""
    if not text:
        return None
    try:
        when = datetime.fromisoformat(text)
    except ValueError:
        raise Fault(NOT_FOUND, "Give a time such as 2027-01-15T08:00.", field) from None
    return round((when if when.tzinfo else when.replace(tzinfo=UTC)).timestamp() * 1000)


def page_number(request: PageRequest) -> int:
    """Returns the number of the page that is asked for, counted from 1."""
    asked = request.query.get("page", "")
    return max(1, int(asked)) if asked.isascii() and asked.isdigit() and len(asked) <= 6 else 1
