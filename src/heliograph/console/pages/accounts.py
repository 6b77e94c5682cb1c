"""Accounts: credit, ledger, settings, keys, usage."""

import json
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from heliograph.admin_api.request import parse_key
from heliograph.app.records import Scope
from heliograph.app.resources import account_settings, accounts, prices
from heliograph.app.resources.account_settings import texts_of
from heliograph.app.resources.accounts import ACCOUNTS
from heliograph.app.resources.description import Operation
from heliograph.app.resources.desk import account_of, needed
from heliograph.app.resources.fields import Choice
from heliograph.app.resources.keys import KEYS
from heliograph.console import chart
from heliograph.console.pages.reports import account_figures
from heliograph.console.render import priced
from heliograph.console.request import FormProblem, PageRequest, PageResponse, PageRoute
from heliograph.domain import calendar
from heliograph.domain.display import counted
from heliograph.domain.message import ids
from heliograph.domain.money.amounts import parse_credits
from heliograph.domain.money.pricing import DEFAULT_PLAN

ENTRIES = 20

SHOWN = 500
"""The most accounts that the list shows."""

SUSPENDED = "suspended"
"""A setting with a button of its own, which the form lacks."""

SETTINGS = tuple(each for each in account_settings.SETTINGS if each.name != SUSPENDED)
"""Settings that the form has, in its order."""


async def list_all(request: PageRequest) -> PageResponse:
    wanted = request.query.get("q", "").strip().lower()
    found = await request.desk.store.accounts.all()
    named = [(account, balance) for account, balance in found if wanted in account.name.lower()]
    return request.page(
        "accounts.html", accounts=named[:SHOWN], more=len(named) - SHOWN, wanted=wanted, total=len(found)
    )


async def new(request: PageRequest, problem: FormProblem | None = None) -> PageResponse:
    return request.page(
        "account_new.html", status=200 if problem is None else 400, values=request.form, problem=problem,
        plans=await prices.plans(request.desk),
    )  # fmt: skip


async def create(request: PageRequest) -> PageResponse:
    operation = ACCOUNTS.operation("create")
    form = {name: text for name, text in request.form.items() if text or name == "name"}
    if form.get("price") or form.get("plan") == DEFAULT_PLAN:
        form.pop("plan", None)
    given = {each.name: each.parse(form[each.name]) for each in operation.reads if each.name in form}
    made = await request.ask(ACCOUNTS, operation.name, given)
    return _secrets(request, f"The account {made['name']} is open", operation, made, made["name"])


def _secrets(
    request: PageRequest, title: str, operation: Operation, made: Mapping[str, Any], account: str
) -> PageResponse:
    """Shows the secrets of an answer, once."""
    assert isinstance(operation.answers, tuple)
    secrets = [(each.label, made[each.name], each.meaning) for each in operation.answers if each.is_secret]
    return request.page("secrets.html", title=title, secrets=secrets, back=f"/accounts/{account}", back_name=account)


async def show(request: PageRequest, problem: FormProblem | None = None) -> PageResponse:
    name = request.path["name"]
    account, keys = await account_of(request.desk.store, name)
    days = 30 if request.query.get("days") == "30" else 1
    entries = await accounts.entries(request.desk, name, ENTRIES + 1, parse_key(request.query.get("before", "")))
    texts = texts_of(account)
    had = request.form.get("had") or json.dumps(texts)
    if problem is not None:
        texts |= {each.name: request.form[each.name] for each in SETTINGS if each.name in request.form}
    return request.page(
        "account.html",
        status=200 if problem is None else 400,
        account=account,
        balance=await request.desk.store.customers.balance(account.id),
        keys=keys,
        texts=texts,
        had=had,
        groups=[
            (title, [account_settings.SETTING[name] for name in names if name != SUSPENDED])
            for title, names in account_settings.GROUPS
        ],
        words={"plan": sorted({*await prices.plans(request.desk), texts["plan"]})}
        | {
            each.name: ((each.empty,) if each.nullable else ()) + each.type.words
            for each in SETTINGS
            if isinstance(each.type, Choice)
        },
        form=request.form,
        fresh_reference=needed(request.desk.secrets).octets(8).hex(),
        entries=entries[:ENTRIES],
        more=entries[ENTRIES - 1].key if len(entries) > ENTRIES else None,
        days=days,
        usage=await _usage(request, name, days),
        figures=await account_figures(request, name),
        problem=problem,
    )


async def _usage(request: PageRequest, name: str, days: int) -> Mapping[str, object]:
    period = await accounts.usage(request.desk, name, days)
    # the ledger is summed by hours and days of UTC
    zone = calendar.zone(request.zone if days == 1 else "UTC")
    spans = {each["time"]: each for each in period["spans"]}
    bars = []
    for at in range(period["start"], period["end"], period["step"]):
        charged_then, requests_then = (spans[at]["charged"], spans[at]["requests"]) if at in spans else (0, 0)
        when = datetime.fromtimestamp(at / 1000, zone)
        label = when.strftime("%H:%M" if days == 1 else "%d %b")
        words = f"{label}: {priced(charged_then)} for {counted(requests_then, 'request')}"
        bars.append((label, charged_then / 1e6, words))
    charged = sum(each["charged"] for each in spans.values())
    requests = sum(each["requests"] for each in spans.values())
    span = "last 24 hours" if days == 1 else "last 30 days of UTC" if request.zone != "UTC" else "last 30 days"
    label = f"Charged in the {span}: {priced(charged)} for {counted(requests, 'request')}"
    return {
        "chart": chart.bars(bars, label), "charged": charged, "requests": requests, "span": span,
        "refunded": sum(each["refunded"] for each in spans.values()),
        "inbound": sum(each["inbound"] for each in spans.values()),
    }  # fmt: skip


async def entry(request: PageRequest) -> PageResponse:
    """Leads from an entry of the ledger to its message, or to the messages of its batch."""
    name, key = request.path["name"], parse_key(request.path["key"]) or 0
    account, _ = await account_of(request.desk.store, name)
    tail = await request.desk.store.customers.tail(account.id, key)
    if tail is None:
        return request.go(f"/accounts/{name}", "The message of this entry has been deleted.")
    if await request.desk.store.customers.message(account.id, key, tail) is None:
        return request.go("/messages", q=ids.to_hex(key, tail))
    return request.go(f"/messages/{ids.to_hex(key, tail)}")


async def top_up(request: PageRequest) -> PageResponse:
    name, operation = request.path["name"], ACCOUNTS.operation("top-up")
    given = {each.name: each.parse(request.form.get(each.name, "")) for each in operation.reads}
    answer = await request.ask(ACCOUNTS, operation.name, {"name": name, **given})
    return request.go(f"/accounts/{name}", f"The balance of {name} is now {priced(parse_credits(answer['balance']))}.")


async def settings(request: PageRequest) -> PageResponse:
    name = request.path["name"]
    account, _ = await account_of(request.desk.store, name)
    before = {each: text for each, text in texts_of(account).items() if each != SUSPENDED}
    texts = request.changed(before)
    if not texts:
        return request.go(f"/accounts/{name}", "Nothing was changed.")
    given = {each.name: each.parse(texts[each.name]) for each in SETTINGS if each.name in texts}
    await request.ask(ACCOUNTS, "set", {"name": name, **given})
    return request.go(f"/accounts/{name}", "The settings are saved; they take effect within five seconds.")


async def suspend(request: PageRequest) -> PageResponse:
    name = request.path["name"]
    suspended = request.form.get("suspended") == "yes"
    await request.ask(ACCOUNTS, "set", {"name": name, "suspended": suspended})
    return request.go(f"/accounts/{name}", f"{name} is suspended." if suspended else f"{name} may send again.")


async def new_key(request: PageRequest) -> PageResponse:
    name, operation = request.path["name"], KEYS.operation("create")
    made = await request.ask(
        KEYS, operation.name, {"account": name, "expires": request.form.get("expires", "").strip() or None}
    )
    return _secrets(request, f"A new API key of {name}", operation, made, name)


async def revoke_key(request: PageRequest) -> PageResponse:
    name = request.path["name"]
    given = {"account": name, "key_id": request.form.get("key", "")}
    await request.ask(KEYS, "revoke", given)
    return request.go(f"/accounts/{name}", "The key is revoked.")


async def new_password(request: PageRequest) -> PageResponse:
    return await _new_secret(request, "new-password", "password")


async def new_smpp_password(request: PageRequest) -> PageResponse:
    return await _new_secret(request, "smpp-password", "SMPP password")


async def new_signing_secret(request: PageRequest) -> PageResponse:
    return await _new_secret(request, "new-signing-secret", "signing secret")


async def _new_secret(request: PageRequest, word: str, label: str) -> PageResponse:
    name, operation = request.path["name"], ACCOUNTS.operation(word)
    made = await request.ask(ACCOUNTS, operation.name, {"name": name})
    return _secrets(request, f"The new {label} of {name}", operation, made, name)


PAGES = (
    PageRoute("GET", "/accounts", Scope.READ_ACCOUNTS, list_all),
    PageRoute("GET", "/accounts-new", Scope.WRITE_ACCOUNTS, new),
    PageRoute("POST", "/accounts-new", Scope.WRITE_ACCOUNTS, create, again=new),
    PageRoute("GET", "/accounts/{name}", Scope.READ_ACCOUNTS, show),
    PageRoute("GET", "/accounts/{name}/entry/{key}", Scope.READ_MESSAGES, entry),
    PageRoute("POST", "/accounts/{name}/top-up", Scope.TOP_UP, top_up, again=show),
    PageRoute("POST", "/accounts/{name}/settings", Scope.WRITE_ACCOUNTS, settings, again=show),
    PageRoute("POST", "/accounts/{name}/suspend", Scope.WRITE_ACCOUNTS, suspend),
    PageRoute("POST", "/accounts/{name}/keys", Scope.WRITE_KEYS, new_key, again=show),
    PageRoute("POST", "/accounts/{name}/revoke-key", Scope.WRITE_KEYS, revoke_key),
    PageRoute("POST", "/accounts/{name}/password", Scope.WRITE_KEYS, new_password),
    PageRoute("POST", "/accounts/{name}/smpp-password", Scope.WRITE_KEYS, new_smpp_password),
    PageRoute("POST", "/accounts/{name}/signing-secret", Scope.WRITE_KEYS, new_signing_secret),
)
