"""Accounts: credit, ledger, settings, keys, usage."""

from collections.abc import Mapping
from datetime import UTC, datetime

from heliograph.app.admin import fields
from heliograph.app.admin.oversight import Scope, Usage
from heliograph.app.configuration import Account
from heliograph.console import chart
from heliograph.console.render import priced
from heliograph.console.visit import Mistake, Page, Problem, Reply, Visit, problem_of
from heliograph.domain import ids
from heliograph.domain.calendar import DAY_MS
from heliograph.domain.display import counted
from heliograph.domain.money import format_credits

ENTRIES = 20
HOUR_MS = 3_600_000

SETTINGS = tuple(name for name in fields.ACCOUNT if name != "suspended")
"""Settings that the form has, in its order."""


LABELS = {
    "timezone": "Time zone",
    "plan": "Price plan",
    "credit_limit": "Credit limit",
    "list_interval": "List interval",
    "rate": "Rate",
    "callback_url": "Callback URL",
    "callback_format": "Callback format",
    "content_decoding": "Content decoding",
    "networks": "Networks",
    "senders": "Sender IDs",
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
        "callback_url": account.callback_url,
        "callback_format": account.callback_format,
        "content_decoding": account.content_decoding,
        "networks": ", ".join(account.networks),
        "senders": ", ".join(account.senders),
    }


async def list_all(visit: Visit) -> Reply:
    wanted = visit.query.get("q", "").strip().lower()
    found = await visit.administration.accounts()
    shown = [(account, balance) for account, balance in found if wanted in account.name.lower()]
    return visit.page("accounts.html", accounts=shown, wanted=wanted, total=len(found))


async def new(visit: Visit, problem: Problem | None = None) -> Reply:
    return visit.page(
        "account_new.html", status=200 if problem is None else 400, values=visit.form, problem=problem,
        plans=sorted({price.plan for price in await visit.administration.prices()} | {"default"}),
    )  # fmt: skip


async def new_form(visit: Visit) -> Reply:
    return await new(visit)


async def create(visit: Visit) -> Reply:
    form = visit.form
    settings = {name: form[name] for name in ("timezone", "plan", "callback_url") if form.get(name)}
    try:
        price = fields.amount("price", form["price"]) if form.get("price") else None
        if price is not None:
            settings.pop("plan", None)
        credit = fields.amount("credit", form.get("credit") or "0")
        made = await visit.administration.create_account(form.get("name", ""), credit, settings, price)
    except Mistake as mistake:
        return await new(visit, problem_of(mistake))
    secrets = [
        ("Password", made.password, "for /api/v2"),
        ("API key", made.api_key, "for /api/v1"),
        ("Signing secret", made.signing_secret, "verifies receipts"),
    ]
    return _secrets(visit, f"The account {made.account.name} is open", secrets, made.account.name)


def _secrets(visit: Visit, title: str, secrets: list[tuple[str, str, str]], account: str) -> Reply:
    return visit.page("secrets.html", title=title, secrets=secrets, back=f"/accounts/{account}", back_name=account)


async def show(visit: Visit, problem: Problem | None = None) -> Reply:
    name = visit.path["name"]
    view = await visit.administration.account(name)
    days = 30 if visit.query.get("days") == "30" else 1
    before = visit.query.get("before", "")
    entries = await visit.administration.ledger(name, ENTRIES + 1, int(before) if before.isdigit() else None)
    texts = texts_of(view.account)
    if problem is not None:
        texts |= {name: visit.form[name] for name in SETTINGS if name in visit.form}
    return visit.page(
        "account.html",
        status=200 if problem is None else 400,
        account=view.account,
        balance=view.balance,
        keys=view.keys,
        texts=texts,
        fields={name: fields.ACCOUNT[name] for name in SETTINGS},
        labels=LABELS,
        form=visit.form,
        entries=entries[:ENTRIES],
        more=entries[ENTRIES - 1].key if len(entries) > ENTRIES else None,
        days=days,
        usage=await _usage(visit, view.account.id, days),
        problem=problem,
    )


async def _usage(visit: Visit, account: int, days: int) -> Mapping[str, object]:
    step = HOUR_MS if days == 1 else DAY_MS
    end = (visit.now // step + 1) * step
    start = end - days * DAY_MS
    spans = {each.at: each for each in await visit.oversight.store.usage(account, start, end, step)}
    bars = []
    for at in range(start, end, step):
        usage = spans.get(at, Usage(at, 0, 0, 0))
        when = datetime.fromtimestamp(at / 1000, UTC)
        name = when.strftime("%H:%M" if days == 1 else "%d %b")
        words = f"{name}: {priced(usage.charged)} for {counted(usage.requests, 'request')}"
        bars.append((name, usage.charged / 1e6, words))
    charged = sum(each.charged for each in spans.values())
    requests = sum(each.requests for each in spans.values())
    span = "last 24 hours" if days == 1 else "last 30 days"
    label = f"Charged in the {span}: {priced(charged)} for {counted(requests, 'request')}"
    return {
        "chart": chart.bars(bars, label), "charged": charged, "requests": requests, "span": span,
        "refunded": sum(each.refunded for each in spans.values()),
    }  # fmt: skip


async def show_page(visit: Visit) -> Reply:
    return await show(visit)


async def entry(visit: Visit) -> Reply:
    """From a line of the ledger to its message; to those of its minute where it is about a batch."""
    key = visit.path["key"]
    number = int(key) if key.isdigit() and len(key) < 19 else 0
    trace = await visit.oversight.store.trace(number)
    if trace is not None:
        return visit.go(f"/messages/{ids.to_hex(number, trace.message.tail)}")
    minute = datetime.fromtimestamp(ids.time_of(number) / 1000, UTC).strftime("%Y-%m-%dT%H:%M")
    return visit.go("/messages", account=visit.path["name"], start=minute, end=minute)


async def top_up(visit: Visit) -> Reply:
    name = visit.path["name"]
    try:
        micro = fields.amount("amount", visit.form.get("amount", ""))
        balance = await visit.administration.top_up(name, micro, visit.form.get("note", ""))
    except Mistake as mistake:
        return await show(visit, problem_of(mistake))
    return visit.go(f"/accounts/{name}", f"The balance of {name} is now {priced(balance)}.")


async def settings(visit: Visit) -> Reply:
    name = visit.path["name"]
    view = await visit.administration.account(name)
    before = texts_of(view.account)
    texts = {
        each: visit.form[each].strip()
        for each in SETTINGS
        if each in visit.form and visit.form[each].strip() != before[each]
    }
    if not texts:
        return visit.go(f"/accounts/{name}", "Nothing was changed.")
    try:
        await visit.administration.set_account(name, texts)
    except Mistake as mistake:
        return await show(visit, problem_of(mistake))
    return visit.go(f"/accounts/{name}", "The settings are saved; they take effect within five seconds.")


async def suspend(visit: Visit) -> Reply:
    name = visit.path["name"]
    suspended = visit.form.get("suspended") == "yes"
    await visit.administration.suspend(name, suspended)
    return visit.go(f"/accounts/{name}", f"{name} is suspended." if suspended else f"{name} may send again.")


async def new_key(visit: Visit) -> Reply:
    made = await visit.administration.create_key(visit.path["name"])
    return _secrets(visit, f"A new API key of {made.account}", [("API key", made.api_key, "for /api/v1")], made.account)


async def revoke_key(visit: Visit) -> Reply:
    name = visit.path["name"]
    await visit.administration.revoke_key(name, visit.form.get("key", ""))
    return visit.go(f"/accounts/{name}", "The key is revoked.")


async def new_password(visit: Visit) -> Reply:
    name = visit.path["name"]
    password = await visit.administration.new_password(name)
    return _secrets(visit, f"The new password of {name}", [("Password", password, "for /api/v2")], name)


async def new_signing_secret(visit: Visit) -> Reply:
    name = visit.path["name"]
    secret = await visit.administration.new_signing_secret(name)
    return _secrets(visit, f"The new signing secret of {name}", [("Signing secret", secret, "verifies receipts")], name)


PAGES = (
    Page("GET", "/accounts", Scope.READ_ACCOUNTS, list_all),
    Page("GET", "/accounts-new", Scope.WRITE_ACCOUNTS, new_form),
    Page("POST", "/accounts-new", Scope.WRITE_ACCOUNTS, create),
    Page("GET", "/accounts/{name}", Scope.READ_ACCOUNTS, show_page),
    Page("GET", "/accounts/{name}/entry/{key}", Scope.READ_MESSAGES, entry),
    Page("POST", "/accounts/{name}/top-up", Scope.TOP_UP, top_up),
    Page("POST", "/accounts/{name}/settings", Scope.WRITE_ACCOUNTS, settings),
    Page("POST", "/accounts/{name}/suspend", Scope.WRITE_ACCOUNTS, suspend),
    Page("POST", "/accounts/{name}/keys", Scope.WRITE_ACCOUNTS, new_key),
    Page("POST", "/accounts/{name}/revoke-key", Scope.WRITE_ACCOUNTS, revoke_key),
    Page("POST", "/accounts/{name}/password", Scope.WRITE_ACCOUNTS, new_password),
    Page("POST", "/accounts/{name}/signing-secret", Scope.WRITE_ACCOUNTS, new_signing_secret),
)
