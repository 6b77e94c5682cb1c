"""Accounts: credit, ledger, settings, keys, usage."""

from collections.abc import Mapping
from datetime import UTC, datetime

from heliograph.admin_api.request import parse_key
from heliograph.app.admin import fields
from heliograph.app.configuration import Account
from heliograph.app.records import Scope, Usage
from heliograph.console import chart
from heliograph.console.pages.reports import account_figures
from heliograph.console.render import priced
from heliograph.console.request import FormProblem, Mistake, PageRequest, PageResponse, PageRoute, problem_of
from heliograph.domain import calendar
from heliograph.domain.display import counted
from heliograph.domain.message import ids
from heliograph.domain.money.amounts import format_credits
from heliograph.domain.money.pricing import DEFAULT_PLAN

ENTRIES = 20


SETTINGS = tuple(name for name in fields.ACCOUNT if name != "suspended")
"""Settings that the form has, in its order."""


LABELS = {
    "timezone": "Time zone",
    "plan": "Price plan",
    "credit_limit": "Credit limit",
    "list_interval": "List interval",
    "rate": "Rate",
    "request_rate": "Requests a second",
    "request_burst": "Requests at once",
    "daily_messages": "Messages a day",
    "daily_spend": "Credits a day",
    "max_waiting": "Waiting at most",
    "prefixes": "Destinations",
    "guard": "Pumping guard",
    "callback_url": "Callback URL",
    "inbound_url": "Inbound URL",
    "inbound_reply": "Inbound reply",
    "smart": "Smart replacement",
    "opt_out": "Opt-out",
    "stop_text": "Confirmation of STOP",
    "help_text": "Answer to HELP",
    "callback_format": "Callback format",
    "content_decoding": "Content decoding",
    "networks": "Networks",
    "senders": "Sender IDs",
    "inbound_way": "Way of phones' messages",
    "smpp_system_id": "SMPP system_id",
    "smpp_binds": "SMPP binds",
    "smpp_window": "SMPP window",
    "smpp_id": "SMPP message ids",
    "smpp_receipts": "SMPP receipts",
    "smpp_alphabet": "SMPP alphabet",
    "smpp_reference": "SMPP reference",
    "smpp_status": "SMPP statuses",
    "country": "Country code",
    "retain_text_days": "Days texts are kept",
    "retain_number_days": "Days phones are kept",
    "retain_days": "Days messages are kept",
}


def texts_of(account: Account) -> dict[str, str]:
    """The settings as the form has them."""
    interval = account.list_interval
    return {
        "timezone": account.timezone,
        "plan": account.plan,
        "credit_limit": format_credits(account.credit_limit),
        "list_interval": "default" if interval is None else f"{interval:g}",
        "rate": f"{account.rate:g}",
        "request_rate": f"{account.request_rate:g}",
        "request_burst": str(account.request_burst),
        "daily_messages": str(account.daily_messages),
        "daily_spend": format_credits(account.daily_spend),
        "max_waiting": str(account.max_waiting),
        "prefixes": ", ".join(account.prefixes),
        "guard": account.guard,
        "callback_url": account.callback_url,
        "inbound_url": account.inbound_url,
        "inbound_reply": account.inbound_reply,
        "smart": account.smart,
        "opt_out": account.opt_out,
        "stop_text": account.stop_text,
        "help_text": account.help_text,
        "callback_format": account.callback_format,
        "content_decoding": account.content_decoding,
        "networks": ", ".join(account.networks),
        "senders": ", ".join(account.senders),
        "retain_text_days": _days(account.retain_text_days),
        "retain_number_days": _days(account.retain_number_days),
        "retain_days": _days(account.retain_days),
        "inbound_way": account.inbound_way,
        "smpp_system_id": account.smpp_system_id,
        "smpp_binds": str(account.smpp.binds),
        "smpp_window": str(account.smpp.window),
        "smpp_id": account.smpp.id_form,
        "smpp_receipts": account.smpp.receipts,
        "smpp_alphabet": account.smpp.alphabet,
        "smpp_reference": account.smpp.reference,
        "smpp_status": ", ".join(fields.status_texts(account.smpp.statuses)),
        "country": account.smpp.country,
    }


def _days(days: float | None) -> str:
    return "default" if days is None else f"{days:g}"


async def list_all(request: PageRequest) -> PageResponse:
    wanted = request.query.get("q", "").strip().lower()
    found = await request.manage.accounts()
    shown = [(account, balance) for account, balance in found if wanted in account.name.lower()]
    return request.page("accounts.html", accounts=shown, wanted=wanted, total=len(found))


async def new(request: PageRequest, problem: FormProblem | None = None) -> PageResponse:
    return request.page(
        "account_new.html", status=200 if problem is None else 400, values=request.form, problem=problem,
        plans=await request.services.admin.prices.plans(),
    )  # fmt: skip


async def new_form(request: PageRequest) -> PageResponse:
    return await new(request)


async def create(request: PageRequest) -> PageResponse:
    form = request.form
    settings = {name: form[name] for name in ("timezone", "plan", "callback_url") if form.get(name)}
    if settings.get("plan") == DEFAULT_PLAN:
        del settings["plan"]
    opening = [name for name in fields.OPENING if form.get(name) and (name, form[name]) != ("credit", "0")]
    request.actor.need_all([*settings, *opening], fields.opening_scopes())
    try:
        price = fields.amount("price", form["price"]) if form.get("price") else None
        if price is not None:
            settings.pop("plan", None)
        credit = fields.amount("credit", form.get("credit") or "0")
        made = await request.manage.create_account(form.get("name", ""), credit, settings, price)
    except Mistake as mistake:
        return await new(request, problem_of(mistake))
    secrets = [
        ("Password", made.password, "for /api/v2"),
        ("API key", made.api_key, "for /api/v1"),
        ("Signing secret", made.signing_secret, "verifies receipts"),
    ]
    return _secrets(request, f"The account {made.account.name} is open", secrets, made.account.name)


def _secrets(request: PageRequest, title: str, secrets: list[tuple[str, str, str]], account: str) -> PageResponse:
    return request.page("secrets.html", title=title, secrets=secrets, back=f"/accounts/{account}", back_name=account)


async def show(request: PageRequest, problem: FormProblem | None = None) -> PageResponse:
    name = request.path["name"]
    view = await request.manage.account(name)
    days = 30 if request.query.get("days") == "30" else 1
    entries = await request.manage.ledger(name, ENTRIES + 1, parse_key(request.query.get("before", "")))
    texts = texts_of(view.account)
    if problem is not None:
        texts |= {name: request.form[name] for name in SETTINGS if name in request.form}
    return request.page(
        "account.html",
        status=200 if problem is None else 400,
        account=view.account,
        balance=view.balance,
        keys=view.keys,
        texts=texts,
        fields={name: fields.ACCOUNT[name] for name in SETTINGS},
        labels=LABELS,
        form=request.form,
        entries=entries[:ENTRIES],
        more=entries[ENTRIES - 1].key if len(entries) > ENTRIES else None,
        days=days,
        usage=await _usage(request, view.account.id, days),
        figures=await account_figures(request, name),
        problem=problem,
    )


async def _usage(request: PageRequest, account: int, days: int) -> Mapping[str, object]:
    period = await request.views.usage(account, days)
    # the ledger is summed by hours and days of UTC
    zone = calendar.zone(request.zone if days == 1 else "UTC")
    spans = {each.at: each for each in period.spans}
    bars = []
    for at in range(period.start, period.end, period.step):
        usage = spans.get(at, Usage(at, 0, 0, 0))
        when = datetime.fromtimestamp(at / 1000, zone)
        name = when.strftime("%H:%M" if days == 1 else "%d %b")
        words = f"{name}: {priced(usage.charged)} for {counted(usage.requests, 'request')}"
        bars.append((name, usage.charged / 1e6, words))
    charged = sum(each.charged for each in spans.values())
    requests = sum(each.requests for each in spans.values())
    span = "last 24 hours" if days == 1 else "last 30 days of UTC" if request.zone != "UTC" else "last 30 days"
    label = f"Charged in the {span}: {priced(charged)} for {counted(requests, 'request')}"
    return {
        "chart": chart.bars(bars, label), "charged": charged, "requests": requests, "span": span,
        "refunded": sum(each.refunded for each in spans.values()),
        "inbound": sum(each.inbound for each in spans.values()),
    }  # fmt: skip


async def show_page(request: PageRequest) -> PageResponse:
    return await show(request)


async def entry(request: PageRequest) -> PageResponse:
    """From a line of the ledger to its message; to those of its minute where it is about a batch."""
    number = parse_key(request.path["key"]) or 0
    tail = await request.views.tail_of(number)
    if tail is not None:
        return request.go(f"/messages/{ids.to_hex(number, tail)}")
    minute = datetime.fromtimestamp(ids.time_of(number) / 1000, UTC).strftime("%Y-%m-%dT%H:%M")
    return request.go("/messages", account=request.path["name"], start=minute, end=minute)


async def top_up(request: PageRequest) -> PageResponse:
    name = request.path["name"]
    try:
        micro = fields.amount("amount", request.form.get("amount", ""))
        balance = await request.manage.top_up(name, micro, request.form.get("note", ""))
    except Mistake as mistake:
        return await show(request, problem_of(mistake))
    return request.go(f"/accounts/{name}", f"The balance of {name} is now {priced(balance)}.")


async def settings(request: PageRequest) -> PageResponse:
    name = request.path["name"]
    view = await request.manage.account(name)
    texts = request.changed(texts_of(view.account))
    if not texts:
        return request.go(f"/accounts/{name}", "Nothing was changed.")
    request.actor.need_all(texts, fields.own_scopes())
    try:
        await request.manage.set_account(name, texts)
    except Mistake as mistake:
        return await show(request, problem_of(mistake))
    return request.go(f"/accounts/{name}", "The settings are saved; they take effect within five seconds.")


async def suspend(request: PageRequest) -> PageResponse:
    name = request.path["name"]
    suspended = request.form.get("suspended") == "yes"
    await request.manage.suspend(name, suspended)
    return request.go(f"/accounts/{name}", f"{name} is suspended." if suspended else f"{name} may send again.")


async def new_key(request: PageRequest) -> PageResponse:
    try:
        made = await request.manage.create_key(request.path["name"], request.form.get("expires", ""))
    except Mistake as mistake:
        return await show(request, problem_of(mistake))
    return _secrets(
        request, f"A new API key of {made.account}", [("API key", made.api_key, "for /api/v1")], made.account
    )


async def revoke_key(request: PageRequest) -> PageResponse:
    name = request.path["name"]
    await request.manage.revoke_key(name, request.form.get("key", ""))
    return request.go(f"/accounts/{name}", "The key is revoked.")


async def new_password(request: PageRequest) -> PageResponse:
    name = request.path["name"]
    password = await request.manage.new_password(name)
    return _secrets(request, f"The new password of {name}", [("Password", password, "for /api/v2")], name)


async def new_smpp_password(request: PageRequest) -> PageResponse:
    name = request.path["name"]
    password = await request.manage.new_smpp_password(name)
    return _secrets(request, f"The new SMPP password of {name}", [("SMPP password", password, "for binds")], name)


async def new_signing_secret(request: PageRequest) -> PageResponse:
    name = request.path["name"]
    secret = await request.manage.new_signing_secret(name)
    return _secrets(
        request, f"The new signing secret of {name}", [("Signing secret", secret, "verifies receipts")], name
    )


PAGES = (
    PageRoute("GET", "/accounts", Scope.READ_ACCOUNTS, list_all),
    PageRoute("GET", "/accounts-new", Scope.WRITE_ACCOUNTS, new_form),
    PageRoute("POST", "/accounts-new", Scope.WRITE_ACCOUNTS, create),
    PageRoute("GET", "/accounts/{name}", Scope.READ_ACCOUNTS, show_page),
    PageRoute("GET", "/accounts/{name}/entry/{key}", Scope.READ_MESSAGES, entry),
    PageRoute("POST", "/accounts/{name}/top-up", Scope.TOP_UP, top_up),
    PageRoute("POST", "/accounts/{name}/settings", Scope.WRITE_ACCOUNTS, settings),
    PageRoute("POST", "/accounts/{name}/suspend", Scope.WRITE_ACCOUNTS, suspend),
    PageRoute("POST", "/accounts/{name}/keys", Scope.WRITE_KEYS, new_key),
    PageRoute("POST", "/accounts/{name}/revoke-key", Scope.WRITE_KEYS, revoke_key),
    PageRoute("POST", "/accounts/{name}/password", Scope.WRITE_KEYS, new_password),
    PageRoute("POST", "/accounts/{name}/smpp-password", Scope.WRITE_KEYS, new_smpp_password),
    PageRoute("POST", "/accounts/{name}/signing-secret", Scope.WRITE_KEYS, new_signing_secret),
)
