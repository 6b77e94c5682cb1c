"""The checks of `heliograph doctor`, in their order: settings, data directory, store, listener."""

import asyncio
import os
import socket
import stat
import time
from collections.abc import AsyncIterator, Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from heliograph.app.configuration import OFF, ON
from heliograph.cli.checks.leftovers import UNKNOWN_MS, Finding, leftovers
from heliograph.cli.command import Failure, Invocation
from heliograph.cli.live.control import readiness_of, running_address
from heliograph.composition.commands import has_store
from heliograph.composition.connectors import ADAPTERS, KINDS
from heliograph.domain.display import counted

if TYPE_CHECKING:
    from heliograph.app.configuration import Connector
    from heliograph.app.resources.desk import Desk
    from heliograph.config import Settings
    from heliograph.net.tls import CertificateFiles

_CONNECT_S = 5.0
_CLOCK_SLACK_MS = 60_000
_MIN_FREE_OCTETS = 512 * 1024 * 1024


async def examine(invocation: Invocation, binds: bool) -> list[Finding]:
    """Returns the findings of all checks without changing anything. `binds`: also test a bind of each connector."""
    from heliograph.composition import certificates, smpp_server

    invocation.need_the_machine()
    try:
        settings = invocation.settings()
    except Failure as failure:
        return [Finding("settings", "fail", failure.message, "Correct it. All settings: heliograph settings --example")]
    where = "defaults and variables" if settings.file is None else str(settings.file)
    findings = [Finding("settings", "ok", where), *_directory(settings.data)]
    if has_store(settings):
        findings += [finding async for finding in _store(settings, binds)]
    else:
        findings.append(
            Finding("store", "note", "there is no store yet", "The first command makes it: heliograph account create")
        )
    findings += _certificate("certificate", lambda: certificates.files_of(settings))
    findings += _certificate("SMPP certificate", lambda: smpp_server.files_of(settings.smpp_server))
    if settings.routing.lookup_url:
        findings.append(await _lookup(settings))
    findings.append(await asyncio.to_thread(_listener, invocation, settings))
    return findings


def _directory(data: Path) -> list[Finding]:
    if not data.exists():
        return [Finding("data directory", "note", f"{data} does not exist yet", "It is made when it is first needed")]
    findings = []
    if not data.is_dir() or not os.access(data, os.R_OK | os.W_OK | os.X_OK):
        return [
            Finding(
                "data directory", "fail", f"{data} is not a directory that you may write to", "chown it, or use --data"
            )
        ]
    mode = stat.S_IMODE(data.stat().st_mode)
    if mode & 0o077:
        findings.append(
            Finding("data directory", "note", f"other users may read {data} (mode {mode:o})", f"chmod 700 {data}")
        )
    space = os.statvfs(data)
    free = space.f_bavail * space.f_frsize
    if free < _MIN_FREE_OCTETS:
        findings.append(
            Finding(
                "disk",
                "fail",
                f"only {free // 2**20} MiB are free",
                "Free some space: with a full disk all messages are refused",
            )
        )
    return findings or [Finding("data directory", "ok", f"{data}, {free // 2**20} MiB free")]


async def _store(settings: "Settings", binds: bool) -> AsyncIterator[Finding]:
    from heliograph.app.admin.diagnose import leftovers as count_leftovers
    from heliograph.app.ports import DamagedRow, Unavailable
    from heliograph.app.resources import connectors
    from heliograph.composition import commands

    try:
        async with commands.open_desk(settings) as desk:
            await desk.store.upkeep.probe()
            hazards = await desk.store.upkeep.hazards()
            yield Finding("store", "ok", "it accepts writes, and its schema is current")
            yield await _past(desk)
            for hazard in hazards:
                yield Finding("store", "fail", hazard, "Change the configuration of the database server")
            async for finding in _books(desk):
                yield finding
            async for finding in _connectors(desk, settings, binds):
                yield finding
            known = await connectors.all_connectors(desk)
            for finding in leftovers(known, await count_leftovers(desk, UNKNOWN_MS), desk.now):
                yield finding
            async for finding in _callbacks(desk, settings):
                yield finding
            for finding in _unreadable(desk):
                yield finding
    except DamagedRow as error:
        yield Finding("rows", "fail", str(error), "What to do for each: docs/encryption.md, Damaged rows")
    except (Unavailable, OSError) as error:
        advice = "Check permissions, disk space, and the version of heliograph"
        if settings.store.url:
            advice = "Check that the database runs, its URL, and the version of heliograph"
        yield Finding("store", "fail", str(error), advice)


def _unreadable(desk: "Desk") -> list[Finding]:
    """Returns a finding if the other checks met values that cannot be opened, or are no JSON where they must be."""
    found = [] if desk.encryption is None else desk.encryption.unreadable.take_fresh()
    if not found:
        return []
    column, row = found[0]
    detail = f"{counted(len(found), 'value')} cannot be opened, the first: {column} of {row}. Its row is damaged"
    advice = "All of them: heliograph audit --deep. What to do for each: docs/encryption.md, Damaged rows"
    return [Finding("rows", "fail", detail, advice)]


async def _past(desk: "Desk") -> Finding:
    from heliograph.app.resources.nodes import describe_missing
    from heliograph.runtime.past import ADVICE

    loss = await describe_missing(desk)
    if loss:
        return Finding("past", "fail", f"the store lost confirmed commits: {loss}. Gateways refuse it", ADVICE)
    return Finding("past", "ok", "the store has all commits that it confirmed to this data directory")


async def _books(desk: "Desk") -> AsyncIterator[Finding]:
    from heliograph.app.resources.audit_proof import faults

    problems = await desk.store.upkeep.audit()
    if problems:
        advice = "All faults: heliograph audit. Restore a backup or ask for help before you continue"
        yield Finding("books", "fail", f"{counted(len(problems), 'fault')}, the first: {problems[0]}", advice)
    else:
        yield Finding("books", "ok", "all balances, charges and refunds are right")
    changed = await faults(desk)
    if changed:
        yield Finding("audit log", "fail", changed[0], "Find out who can write to the store. heliograph audit --log")
    else:
        yield Finding("audit log", "ok", "no entry was changed or removed")
    accounts = [account for account, _ in await desk.store.accounts.all()]
    newest = 0
    for account in accounts:
        entries = await desk.store.accounts.ledger(account.id, 1)
        newest = max([newest, account.created, *(entry.at for entry in entries)])
    ahead = newest - desk.now
    if ahead > _CLOCK_SLACK_MS:
        detail = f"the store's newest entry is {ahead // 1000} s in the future"
        yield Finding("clock", "fail", detail, "The clock went back, or was wrong: check NTP (timedatectl)")
    else:
        yield Finding("clock", "ok", "not behind the store's newest entry")
    if not accounts:
        yield Finding("accounts", "note", "there are no accounts yet", "heliograph account create NAME --credit N")


async def _connectors(desk: "Desk", settings: "Settings", binds: bool) -> AsyncIterator[Finding]:
    from heliograph.app.resources import connectors
    from heliograph.composition import certificates

    found = await connectors.all_connectors(desk)
    if not found and desk.simulated:
        yield Finding("connectors", "ok", "the simulated operator of the development run takes all numbers")
    elif not found:
        yield Finding(
            "connectors", "note", "there are no connectors yet", "heliograph connector add NAME --host H --port P ..."
        )
    routed = await desk.store.routing_lists.routed_connectors()
    for connector in found:
        if not connector.settings:
            continue  # its row is damaged, which `_unreadable` says
        if not desk.kinds[connector.kind].is_whole(connector):
            show = f"heliograph connector show {connector.name}"
            yield Finding(f"connector {connector.name}", "fail", connectors.DAMAGED, show)
            continue
        if connector.state != ON:
            says = "it is off" if connector.state == OFF else "it is draining: nothing new is sent over it"
            resume = f"heliograph connector set {connector.name} state=on"
            yield Finding(f"connector {connector.name}", "note", says, resume)
        if connector.state == OFF:
            continue
        if connector.id not in routed:
            command = f'heliograph route add --prefix "" --connector {connector.name}'
            yield Finding(f"connector {connector.name}", "note", "no route uses it", command)
        for warning in await connectors.template_warnings(desk, connector):
            yield Finding(f"connector {connector.name}", "fail", warning, "heliograph template list")
        files_of = partial(certificates.client_files_of, connector)
        for finding in _certificate(f"certificate for {connector.name}", files_of, "The next bind reads them"):
            yield finding
        yield await _reach(connector, settings, binds)


async def _reach(connector: "Connector", settings: "Settings", binds: bool) -> Finding:

    check = f"connector {connector.name}"
    host, port = KINDS[connector.kind].address(connector)
    where = f"{host}:{port}"
    try:
        async with asyncio.timeout(_CONNECT_S):
            _, writer = await asyncio.open_connection(host, port)
    except (OSError, TimeoutError) as error:
        if isinstance(error, socket.gaierror):
            advice = "Check the host; if it is right, look at this machine's DNS"
        else:
            advice = "Check host, port and firewall; the operator may list allowed addresses"
        return Finding(check, "fail", f"{where} cannot be reached: {_reason(error)}", advice)
    writer.close()
    if not binds:
        return Finding(check, "ok", f"{where} accepts connections (not bound)")
    steps = await ADAPTERS[connector.kind].probe(connector, settings)
    failed = [(name, detail) for name, ok, detail in steps if not ok]
    if failed:
        name, detail = failed[0]
        return Finding(check, "fail", f"{name}: {detail}", f"heliograph connector test {connector.name}")
    return Finding(check, "ok", f"{where} accepts a bind and answers")


async def _lookup(settings: "Settings") -> Finding:
    from heliograph.composition.commands import probe_lookup

    check, began = "number look-up", time.monotonic()
    host = urlsplit(settings.routing.lookup_url).netloc
    problem = await probe_lookup(settings)
    if problem:
        advice = (
            "Check routing.lookup_url. Until it answers, messages wait for it at times, and numbers count by prefix"
        )
        return Finding(check, "fail", f"{host}: {problem}", advice)
    return Finding(check, "ok", f"{host} answers in {(time.monotonic() - began) * 1000:.0f} ms")


async def _callbacks(desk: "Desk", settings: "Settings") -> AsyncIterator[Finding]:
    for account, _ in await desk.store.accounts.all():
        if account.callback_url:
            yield await _receiver(desk, account.name, account.callback_url, settings)


async def _receiver(desk: "Desk", account: str, url: str, settings: "Settings") -> Finding:
    from heliograph.composition.commands import allowed_networks, refused_address

    check = f"callbacks of {account}"
    parts = urlsplit(url)
    host, port = parts.hostname or "", parts.port or (443 if parts.scheme == "https" else 80)
    try:
        found = await asyncio.get_running_loop().getaddrinfo(host, port, type=1)
    except OSError as error:
        return Finding(
            check, "fail", f"{host} has no address: {error}", f"heliograph account set {account} callback_url=URL"
        )
    addresses = sorted({str(each[4][0]) for each in found})
    networks = allowed_networks(settings, is_dev=bool(desk.simulated))
    usable = [text for text in addresses if refused_address(networks, text.partition("%")[0]) is None]
    if not usable:
        advice = f'If you want that: callbacks.allowed_networks = ["{addresses[0]}"] in the settings'
        return Finding(check, "fail", f"{host} is {', '.join(addresses)}, which is refused", advice)
    try:
        async with asyncio.timeout(_CONNECT_S):
            _, writer = await asyncio.open_connection(usable[0], port)
    except (OSError, TimeoutError) as error:
        reason = _reason(error)
        return Finding(
            check, "fail", f"{host}:{port} cannot be reached: {reason}", "The callbacks wait and are retried"
        )
    writer.close()
    return Finding(check, "ok", f"{host}:{port} accepts connections")


def _reason(error: OSError) -> str:
    """Returns the reason of a failed connection, without the error number."""
    if isinstance(error, TimeoutError):
        return f"no answer in {_CONNECT_S:g} s"
    if error.errno is not None and error.errno > 0:
        return os.strerror(error.errno)
    return error.strerror or str(error)


def _certificate(
    check: str,
    files_of: "Callable[[], CertificateFiles | None]",
    then: str = "The gateway reloads them",
) -> list[Finding]:
    from heliograph.composition import certificates
    from heliograph.composition.watching import Unusable
    from heliograph.net.tls import CertificateProblem

    advice = f"Renew it, and write certificate and key to the same files. {then}"
    try:
        files = files_of()
        if files is None:
            return []
        loaded = files.load()
    except (Unusable, CertificateProblem) as problem:
        return [Finding(check, "fail", str(problem), advice)]
    left = loaded.validity.end - time.time()
    if left < certificates.SOON_S:
        return [Finding(check, "fail" if left <= 0 else "note", certificates.ends_in(left), advice)]
    return [Finding(check, "ok", f"it is valid until {certificates.until(loaded)}")]


def _listener(invocation: Invocation, settings: "Settings") -> Finding:
    from heliograph.config import parse_address

    running = running_address(invocation)
    if running:
        return _readiness(running)
    host, port = parse_address(settings.http.listen)
    try:
        infos = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        with socket.create_server(infos[0][4][:2], family=infos[0][0], reuse_port=False):
            return Finding("listen", "ok", f"{settings.http.listen} is free for heliograph serve")
    except OSError as error:
        return _readiness(settings.http.listen, str(error))


def _readiness(address: str, problem: str = "it does not answer") -> Finding:
    """Returns whether a ready gateway listens on the address. `problem` is the finding if there is no HTTP answer."""
    status = readiness_of(address)
    if status is None:
        return Finding("listen", "fail", f"{address}: {problem}", "Stop the program that uses it, or set http.listen")
    if status == 200:
        return Finding("listen", "ok", f"a gateway runs on {address} and is ready")
    if status == 503:
        found = f"a gateway on {address} is not ready: it waits for its store, or cannot write to it"
        return Finding("listen", "fail", found, "See the check of the store, and the gateway's log")
    return Finding(
        "listen", "fail", f"{address} answers {status}", "See its log. Another program may be using the port"
    )
