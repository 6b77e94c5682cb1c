"""Tests a connector step by step, and reports the results and solutions."""

import asyncio
import contextlib
import ssl
import time
from dataclasses import dataclass, field
from typing import Final, cast

from heliograph.adapters.smpp.bind import ROLES, bind_request
from heliograph.adapters.smpp.dial import ANYWHERE, resolve, tls_context
from heliograph.adapters.smpp.kind import SmppSettings, read_settings
from heliograph.adapters.smpp.messages import why_closed, why_not_connected, why_refused
from heliograph.adapters.smpp.options import Dialect
from heliograph.app.configuration import Connector
from heliograph.domain.security.host import AllowedHosts
from heliograph.smpp import constants as c
from heliograph.smpp import event as e
from heliograph.smpp import pdu as p
from heliograph.smpp.constants import CommandStatus, Role
from heliograph.smpp.error import SmppError
from heliograph.smpp.session import Session, SessionOptions

READ_OCTETS: Final = 65_536


@dataclass(slots=True)
class ProbeReport:
    """Steps in order: name, success, details, for example `("resolve", True, "smsc.example.net is 192.0.2.1")`. The
    first failure is the last step."""

    steps: list[tuple[str, bool, str]] = field(default_factory=list)

    @property
    def ok(self) -> bool:
        return all(ok for _, ok, _ in self.steps)


class _Failed(Exception):
    """A step failed. The text is the reason."""


class _Talk:
    """A session on streams, with one request at a time. Receipts that arrive are deferred; the operator sends them
    again.
    """

    def __init__(self, session: Session, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.session = session
        self._reader = reader
        self._writer = writer
        self.put_off = 0

    async def flush(self) -> None:
        self._writer.write(self.session.data_to_send())
        await self._writer.drain()

    async def receive(self) -> list[e.Event]:
        """Sends pending octets and returns the next events. Raises _Failed when the connection ends."""
        await self.flush()
        data = await self._reader.read(READ_OCTETS)
        if not data:
            raise _Failed("the operator closed the connection")
        events = self.session.receive(data, time.monotonic())
        for event in events:
            if isinstance(event, e.Delivered):
                self.session.answer(event.request, CommandStatus.ESME_RX_T_APPN)
                self.put_off += 1
            elif isinstance(event, e.Closing) and event.reason is not e.CloseReason.UNBOUND:
                raise _Failed(why_closed(event.reason))
            elif isinstance(event, e.Unbound) and event.by_peer:
                raise _Failed("the operator unbound the link")
        return events


async def probe(connector: Connector, timeout_s: float = 10.0, allowed: AllowedHosts = ANYWHERE) -> ProbeReport:
    """Resolves, connects, binds, tests the link and unbinds, with each of the binds in the connector's `bind`.

    Each step may take `timeout_s`. Connects only to `allowed` hosts. Never raises for errors of the operator or the
    network.
    """
    report = ProbeReport()
    settings, problems = read_settings(connector)
    if problems:
        report.steps.append(("options", False, "; ".join(problems)))
        return report
    hosts = ((settings.host, settings.port), *settings.dialect.hosts)
    for host, port in hosts:
        for role in ROLES[settings.bind]:
            if not await _try(report, settings, (host, port), role, timeout_s, allowed):
                return report
    return report


async def _try(
    report: ProbeReport,
    settings: SmppSettings,
    address: tuple[str, int],
    role: type[p.BindRequest],
    timeout_s: float,
    allowed: AllowedHosts,
) -> bool:
    """Tries a bind, from resolving to unbinding. Returns False if a step failed."""
    host, port = address
    where = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
    name = "resolve"
    writer: asyncio.StreamWriter | None = None
    try:
        async with asyncio.timeout(timeout_s):
            addresses = await resolve(host, port, allowed)
        report.steps.append((name, True, f"{host} is {', '.join(addresses)}"))
        name = "connect"
        async with asyncio.timeout(timeout_s):
            reader, writer = await _connect(addresses, port)
        report.steps.append((name, True, f"connected to {where}"))
        if settings.tls:
            name = "tls"
            report.steps.append((name, True, await _start_tls(writer, host, settings.dialect, timeout_s)))
        session = Session(Role.ESME, time.monotonic(), SessionOptions(bind_timeout=timeout_s, enquire_interval=0))
        talk = _Talk(session, reader, writer)
        for name in ("bind", "enquire_link", "unbind"):
            async with asyncio.timeout(timeout_s):
                detail = await _STEPS[name](talk, settings, role)
            report.steps.append((name, True, detail))
    except (OSError, ValueError, SmppError, _Failed) as error:
        report.steps.append((name, False, _why(name, error, where, timeout_s, tls=name == "tls")))
        return False
    finally:
        if writer is not None:
            writer.close()
            with contextlib.suppress(OSError, TimeoutError):
                async with asyncio.timeout(1.0):
                    await writer.wait_closed()
    return True


async def _connect(addresses: list[str], port: int) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """Connects to the first address that answers, without looking up the name again."""
    for address in addresses[:-1]:
        with contextlib.suppress(OSError):
            return await asyncio.open_connection(address, port)
    return await asyncio.open_connection(addresses[-1], port)


async def _start_tls(writer: asyncio.StreamWriter, host: str, dialect: Dialect, timeout_s: float) -> str:
    context = await asyncio.to_thread(tls_context, dialect)
    async with asyncio.timeout(timeout_s):
        await writer.start_tls(context, server_hostname=dialect.tls_server_name or host)
    secured = cast("ssl.SSLObject", writer.get_extra_info("ssl_object"))
    trust = "its certificate is trusted" if dialect.tls_verify else "its certificate is NOT verified (tls_verify=false)"
    return f"{secured.version()}; {trust}"


async def _bind(talk: _Talk, settings: SmppSettings, role: type[p.BindRequest]) -> str:
    talk.session.bind(bind_request(settings, role), time.monotonic())
    while True:
        for event in await talk.receive():
            match event:
                case e.Bound():
                    version = event.interface_version
                    speaks = f", which speaks SMPP {version >> 4}.{version & 15}" if version else ""
                    name = event.response.system_id
                    peer = name if name and name.isprintable() else "the operator"
                    return f"{c.command_name(role.command_id)} as {settings.system_id} at {peer}{speaks}"
                case e.BindRefused(status):
                    raise _Failed(why_refused(status))
                case _:
                    pass


async def _enquire_link(talk: _Talk, _settings: SmppSettings, _role: type[p.BindRequest]) -> str:
    began = time.monotonic()
    talk.session.enquire_link(began)
    while talk.session.next_deadline() is not None:  # the only request is the query
        await talk.receive()
    return f"answered in {(time.monotonic() - began) * 1000:.1f} ms"


async def _unbind(talk: _Talk, _settings: SmppSettings, _role: type[p.BindRequest]) -> str:
    talk.session.unbind(time.monotonic())
    while not any(isinstance(event, e.Unbound) for event in await talk.receive()):
        pass
    await talk.flush()
    if talk.put_off:
        return f"agreed; {talk.put_off} receipts or messages came meanwhile and were put off"
    return "agreed"


_STEPS: Final = {"bind": _bind, "enquire_link": _enquire_link, "unbind": _unbind}


def _why(step: str, error: BaseException, where: str, timeout_s: float, *, tls: bool) -> str:
    if isinstance(error, _Failed | SmppError):
        return str(error)
    if isinstance(error, TimeoutError) and step in _STEPS:
        hint = "; check the port, and whether the operator wants TLS" if step == "bind" else ""
        return f"no answer to {step} within {timeout_s:g} s{hint}"
    if isinstance(error, ConnectionError) and step in _STEPS:
        return f"the operator closed the connection during {step}"
    return why_not_connected(error, where, timeout_s, tls=tls)
