"""The ASGI application of the console: authenticates and authorizes a request, and dispatches it to its page."""

import asyncio
import re
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from http.cookies import CookieError, SimpleCookie
from urllib.parse import parse_qs, quote, unquote, urlsplit

from heliograph.admin_api.request import RETRY_AFTER_S, TooManyExports
from heliograph.app.admin.sign_in import SecondStep, same
from heliograph.app.ports import Unavailable
from heliograph.app.resources.desk import Actor, NoSuch
from heliograph.console import PATH
from heliograph.console.pages import PAGES
from heliograph.console.render import ASSETS, Renderer
from heliograph.console.request import (
    COOKIES,
    NOTICE_COOKIE,
    THEME_COOKIE,
    THEMES,
    ZONE_COOKIE,
    ConsoleServices,
    Mistake,
    PageRequest,
    PageResponse,
    PageRoute,
    link,
    passkey_answer,
    problem_of,
    session_cookie,
    who_did,
)
from heliograph.console.sent_lists import ListRuns
from heliograph.domain import calendar, error
from heliograph.domain.display import counted, origin_of
from heliograph.domain.error import Fault
from heliograph.http.asgi import (
    BodyTooLarge,
    ClientGone,
    Receive,
    Scope,
    Send,
    read_body,
    respond,
    respond_in_pieces,
    unless_gone,
)

MAX_FORM_OCTETS = 8 << 20
"""Octets. The largest form; the form with a long list of recipients needs this much."""

LONG_FORM_OCTETS = 64 << 10
"""Octets. Larger forms are decoded in a thread, because the largest form takes a third of a second."""

MAX_COOKIE_OCTETS = 16 << 10
"""Octets. Cookies beyond this are not read."""

MAX_SIGN_IN_OCTETS = 4 << 10
MAX_STEP_OCTETS = 16 << 10

SESSION_S = 12 * 3600

WITHOUT_SECOND = ("/security", "/password", "/theme")
"""The beginnings of paths that are open to users who must set up a second factor first."""

NUL = "The request has a NUL character, which no name or text may have."
"""Refused early, because PostgreSQL rejects a NUL even in a search."""

_POLICY = (
    b"default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    b"form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)

_SECURITY = (
    (b"content-security-policy", _POLICY),
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"same-origin"),
    (b"cross-origin-opener-policy", b"same-origin"),
)


@dataclass(slots=True)
class RawRequest:
    """A request before authentication."""

    method: str
    path: str
    query: Mapping[str, str]
    headers: Mapping[bytes, bytes]
    cookies: Mapping[str, str]
    address: str
    secure: bool
    receive: Receive
    until_sent: ExitStack
    """Left when the answer has been sent: an export counts until then."""

    @property
    def theme(self) -> str:
        """`light`, `dark`, or empty for the browser's setting."""
        theme = self.cookies.get(THEME_COOKIE, "")
        return theme if theme in THEMES else ""

    @property
    def zone(self) -> str:
        """The visitor's time zone, for example `Europe/Berlin`; `UTC` if it is unknown."""
        try:
            return calendar.zone(self.cookies.get(ZONE_COOKIE, "UTC")).key
        except ValueError:
            return "UTC"

    @property
    def is_piece(self) -> bool:
        """True if the console's script requests a piece of a page."""
        return b"x-piece" in self.headers

    @property
    def host(self) -> str:
        """The host name in the address of the page, without the port, for example `sms.example.com`."""
        try:
            return urlsplit("//" + self.headers.get(b"host", b"").decode("latin-1")).hostname or ""
        except ValueError:
            return ""

    def from_elsewhere(self) -> bool:
        """Returns True if a page of another site sent the request."""
        site = self.headers.get(b"sec-fetch-site")
        if site is not None:
            return site not in (b"same-origin", b"none")
        # Browsers send Sec-Fetch-Site only over HTTPS. Over plain HTTP, compare Origin with Host.
        origin = self.headers.get(b"origin")
        host = self.headers.get(b"host", b"").decode("latin-1")
        try:
            return origin is not None and urlsplit(origin.decode("latin-1")).netloc != host
        except ValueError:  # such as http://[
            return True

    async def form(self, most: int) -> dict[str, list[str]]:
        """Reads the form: the values by field. Raises Fault, and ClientGone."""
        kind = self.headers.get(b"content-type", b"").partition(b";")[0].strip().lower()
        if kind != b"application/x-www-form-urlencoded":
            raise Fault(error.MEDIA_TYPE, "The console accepts only forms.")
        try:
            body = await read_body(self.receive, most)
        except BodyTooLarge as problem:
            raise Fault(error.TOO_LARGE, str(problem)) from None
        try:
            fields = _fields(body) if len(body) <= LONG_FORM_OCTETS else await asyncio.to_thread(_fields, body)
        except ValueError:
            raise Fault(error.MALFORMED, "The form cannot be read.") from None
        if any("\0" in text for texts in fields.values() for text in texts):
            raise Fault(error.MALFORMED, NUL)
        return fields


class Console:
    """The ASGI application, mounted at PATH."""

    def __init__(self, services: ConsoleServices, renderer: Renderer) -> None:
        self._services = services
        self._sessions = services.admin.sign_in
        self._renderer = renderer
        self._exports = services.admin.exports
        self._lists = ListRuns(
            services.directory,
            services.sending,
            services.clock,
            services.refusals,
            services.admin.desk.store.sending_lists,
        )
        self._pages = [(_pattern(page.path), page) for page in PAGES]

    async def stop(self) -> None:
        """Stops sending lists. Rows that were not handed in yet are not sent."""
        await self._lists.stop()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        with ExitStack() as until_sent:
            raw = _request(scope, receive, until_sent)
            try:
                response = await self._reply(raw)
            except ClientGone:
                return
            except Exception as problem:  # noqa: BLE001 - the visitor gets an answer in any case
                response = self._failed(problem, raw)
            await self._respond(scope, receive, send, response)

    async def _respond(self, scope: Scope, receive: Receive, send: Send, response: PageResponse) -> None:
        headers = [(b"content-type", response.kind.encode()), *response.headers, *_SECURITY]
        if not any(name == b"cache-control" for name, _ in headers):
            headers.append((b"cache-control", b"no-store"))
        if response.pieces is None:
            headers.append((b"content-length", b"%d" % len(response.body)))
            await respond(scope, send, response.status, headers, response.body)
        else:
            await respond_in_pieces(scope, receive, send, response.status, headers, response.pieces)

    async def _reply(self, raw: RawRequest) -> PageResponse:
        path = raw.path
        if "\0" in path or any("\0" in text for text in raw.query.values()):
            raise Fault(error.MALFORMED, NUL)
        if raw.method not in ("GET", "POST"):
            raise Fault(error.METHOD, "The console accepts only GET and POST.")
        if raw.method == "POST" and raw.from_elsewhere():
            raise Fault(error.FORBIDDEN, "The form came from another site. Nothing was changed.")
        if path.startswith("/assets/"):
            return self._asset(path.removeprefix("/assets/"))
        if path in ("/sign-in", "/sign-in/code"):
            return await self._sign_in(raw)
        return await self._reply_to_user(raw)

    async def _reply_to_user(self, raw: RawRequest) -> PageResponse:
        """Answers a signed-in user, and redirects other visitors to the sign-in page."""
        path = raw.path
        token = raw.cookies.get(session_cookie(secure=raw.secure), "")
        # An automatic refresh does not prove that a person is there, so it does not prolong the session.
        by_itself = raw.is_piece and raw.method == "GET"
        actor = await self._sessions.session(token, raw.address, uses=not by_itself)
        if actor is None:
            if raw.is_piece or raw.method == "POST":
                return self._plain(401, "You are signed out", "Sign in again to continue.", raw)
            wanted = "" if path == "/" else path
            return PageResponse(303, headers=[(b"location", link("/sign-in", next=wanted).encode())])
        form: dict[str, list[str]] = {}
        if raw.method == "POST":
            form = await raw.form(MAX_FORM_OCTETS)
            if not same(form.get("csrf", [""])[0], actor.csrf):
                raise Fault(error.FORBIDDEN, "The form is from an earlier session. Go back, reload, and try again.")
        if path == "/sign-out" and raw.method == "POST":
            await self._sessions.sign_out(token, actor)
            response = PageResponse(303, headers=[(b"location", link("/sign-in").encode())])
            response.session("", secure=raw.secure, seconds=0)
            return response
        page, values = self._find(raw)
        actor.need(page.scope)
        if actor.must_enrol and not page.path.startswith(WITHOUT_SECOND):
            return self._enrol_first(raw)
        request = self._visit(raw, actor, values, form)
        if page.exports:
            raw.until_sent.enter_context(self._exports.counted())
        response = await (unless_gone(raw.receive, page.reply(request)) if page.exports else page.reply(request))
        if page.path == "/password" and response.status == 303:
            response.session("", secure=raw.secure, seconds=0)
        return response

    def _enrol_first(self, raw: RawRequest) -> PageResponse:
        if raw.method == "POST":
            raise Fault(error.FORBIDDEN, "Set up a second factor first, on the page Security.")
        return PageResponse(303, headers=[(b"location", link("/security").encode())])

    def _visit(
        self, raw: RawRequest, actor: Actor, values: Mapping[str, str], form: Mapping[str, list[str]]
    ) -> PageRequest:
        return PageRequest(
            services=self._services,
            renderer=self._renderer,
            lists=self._lists,
            actor=actor,
            here=raw.path,
            path=values,
            query=raw.query,
            form={name: texts[0] for name, texts in form.items()},
            forms=dict(form),
            theme=raw.theme,
            zone=raw.zone,
            secure=raw.secure,
            host=raw.host,
            notice="" if raw.is_piece else unquote(raw.cookies.get(NOTICE_COOKIE, ""))[:500],
        )

    def _find(self, raw: RawRequest) -> tuple[PageRoute, dict[str, str]]:
        other = False
        for pattern, page in self._pages:
            match = pattern(raw.path)
            if match is not None:
                if page.method == raw.method:
                    return page, match.groupdict()
                other = True
        if other:
            raise Fault(error.METHOD, "The page does not accept this method.")
        raise Fault(error.NOT_FOUND, "There is no such page.")

    def _allowed(self, path: str) -> str:
        """Returns the methods of a page for the header Allow, such as `GET, HEAD`."""
        methods = {page.method for pattern, page in self._pages if pattern(path) is not None} or {"GET", "POST"}
        return ", ".join(sorted(methods | {"HEAD"} if "GET" in methods else methods))

    async def _sign_in(self, raw: RawRequest) -> PageResponse:
        wanted = _wanted(raw)
        if raw.path == "/sign-in/code" and raw.method == "POST":
            return await self._second_step(raw)
        if raw.method == "GET":
            return self._sign_in_page(200, raw, wanted)
        form = await raw.form(MAX_SIGN_IN_OCTETS)
        name = form.get("name", [""])[0]
        try:
            token = await self._sessions.sign_in(name, form.get("password", [""])[0], raw.address)
        except SecondStep as step:
            return await self._code_page(200, raw, wanted, step.ticket)
        except Fault as fault:
            return _slowed(self._sign_in_page(fault.entry.http, raw, wanted, name, fault.message), fault)
        return await self._signed_in(raw, wanted, token)

    async def _second_step(self, raw: RawRequest) -> PageResponse:
        wanted = _wanted(raw)
        form = await raw.form(MAX_STEP_OCTETS)
        ticket = form.get("ticket", [""])[0]
        try:
            passkey = form.get("passkey", [""])[0]
            given = passkey_answer(raw.host, passkey) if passkey else form.get("code", [""])[0]
            token = await self._sessions.second_step(ticket, given, raw.address)
        except Fault as fault:
            if fault.field == "ticket":
                return self._sign_in_page(fault.entry.http, raw, wanted, "", fault.message)
            return _slowed(await self._code_page(fault.entry.http, raw, wanted, ticket, fault.message), fault)
        return await self._signed_in(raw, wanted, token)

    async def _signed_in(self, raw: RawRequest, wanted: str, token: str) -> PageResponse:
        response = PageResponse(303, headers=[(b"location", link(wanted or "/").encode())])
        response.session(token, secure=raw.secure, seconds=SESSION_S)
        actor = await self._sessions.session(token, raw.address)
        reset = actor and await self._services.factors.last_reset(actor.plain_name, unseen=True)
        if reset:
            notice = (
                f"{who_did(reset.actor)} removed your second factors on {calendar.format_utc(reset.at)[:10]}. Set up "
                "a new second factor on the page Security. If you did not ask for that, tell the other admins."
            )
            response.cookie(NOTICE_COOKIE, quote(notice), secure=raw.secure, seconds=60)
        return response

    async def _code_page(
        self, status: int, raw: RawRequest, wanted: str, ticket: str, problem: str = ""
    ) -> PageResponse:
        options = await self._sessions.passkey_options(ticket, raw.host)
        body = self._renderer.render(
            "sign_in_code.html",
            theme=raw.theme,
            link=link,
            next=wanted,
            ticket=ticket,
            problem=problem,
            options=options,
        )
        return PageResponse(status, body)

    def _sign_in_page(
        self, status: int, raw: RawRequest, wanted: str, name: str = "", problem: str = ""
    ) -> PageResponse:
        body = self._renderer.render(
            "sign_in.html",
            theme=raw.theme,
            link=link,
            next=wanted,
            name=name,
            problem=problem,
            dev=self._services.simulated is not None,
        )
        return PageResponse(status, body)

    def _asset(self, name: str) -> PageResponse:
        octets = self._renderer.assets.get(name)
        if octets is None:
            raise Fault(error.NOT_FOUND, "There is no such file.")
        return PageResponse(200, octets, [(b"cache-control", b"public, max-age=31536000, immutable")], ASSETS[name])

    def _failed(self, problem: Exception, raw: RawRequest) -> PageResponse:
        if isinstance(problem, Fault):
            response = self._plain(problem.entry.http, problem.entry.title, problem.message, raw)
            if problem.entry is error.METHOD:
                response.headers.append((b"allow", self._allowed(raw.path).encode()))
            return response
        if isinstance(problem, NoSuch):
            return self._plain(404, "Not found", problem_of(problem).text, raw)
        if isinstance(problem, Mistake):
            return self._plain(400, "That did not work", problem_of(problem).text, raw)
        if isinstance(problem, TooManyExports):
            response = self._plain(
                503,
                "Too many exports",
                f"At most {counted(self._exports.most, 'export')} may be written at a time (setting "
                "console.exports). Try again in a moment.",
                raw,
            )
            response.headers.append((b"retry-after", b"%d" % RETRY_AFTER_S))
            return response
        if isinstance(problem, Unavailable):
            return self._plain(503, "The store is unavailable", "Nothing was changed. Try again in a moment.", raw)
        self._services.admin.journal.log(
            "error",
            "console.request_failed",
            method=raw.method,
            **origin_of(problem),
        )
        return self._plain(500, "The gateway failed on this page", "The log of the gateway has the details.", raw)

    def _plain(self, status: int, title: str, text: str, raw: RawRequest) -> PageResponse:
        """Renders a page with a short text, also for visitors who are not signed in."""
        body = self._renderer.render("plain.html", theme=raw.theme, link=link, title=title, text=text)
        return PageResponse(status, body)


def _wanted(raw: RawRequest) -> str:
    """Returns the path that the visitor gets after signing in, or "" for the overview."""
    wanted = raw.query.get("next", "")
    return "" if not wanted.startswith("/") or wanted.startswith(("//", "/sign-in")) else wanted


def _slowed(response: PageResponse, fault: Fault) -> PageResponse:
    if fault.retry_after is not None:
        response.headers.append((b"retry-after", b"%d" % fault.retry_after))
    return response


def _request(scope: Scope, receive: Receive, until_sent: ExitStack) -> RawRequest:
    headers = dict(scope["headers"])
    client = scope.get("client")
    path = scope["path"].removeprefix(PATH).rstrip("/") or "/"
    query = parse_qs(scope["query_string"].decode("latin-1"), keep_blank_values=True, errors="replace")
    return RawRequest(
        "GET" if scope["method"] == "HEAD" else scope["method"],
        path,
        {name: texts[0] for name, texts in query.items()},
        headers,
        _cookies(headers.get(b"cookie", b"").decode("latin-1")),
        client[0] if client else "",
        scope.get("scheme") == "https",
        receive,
        until_sent,
    )


def _fields(body: bytes) -> dict[str, list[str]]:
    """Decodes a form. Raises ValueError."""
    return parse_qs(body.decode("ascii"), keep_blank_values=True, errors="strict", max_num_fields=2_000)


def _cookies(text: str) -> dict[str, str]:
    """Parses the console's cookies singly, so that a malformed cookie of another application does not hide them."""
    given = {part.partition("=")[0].strip(): part.strip() for part in text[:MAX_COOKIE_OCTETS].split(";")}
    found: dict[str, str] = {}
    for name in COOKIES:
        jar: SimpleCookie = SimpleCookie()
        try:
            jar.load(given.get(name, ""))
        except CookieError:
            continue
        if name in jar:  # the parser may take parts of a badly quoted value for cookies with other names
            found[name] = jar[name].value
    return found


def _pattern(path: str) -> Callable[[str], re.Match[str] | None]:
    return re.compile(re.sub(r"{(\w+)}", r"(?P<\1>[^/]+)", path)).fullmatch
