"""Records what Kannel puts on the wire: see ../README.md.

`python kannel.py SBIN TEST` with the folders that hold `bearerbox` and `smsbox`, and `drive_smpp`. Bearerbox binds to
a socket of ours, which answers with octets packed here by hand; drive_smpp is bound to the same way. Nothing of the
package under test takes part.
"""

import contextlib
import json
import socket
import struct
import subprocess
import sys
import tempfile
import time
import urllib.parse
import urllib.request
from collections.abc import Iterator
from pathlib import Path

HEADER = struct.Struct(">IIII")
RESPONSE = 0x80000000
NAMES = {
    0x01: "bind_receiver",
    0x02: "bind_transmitter",
    0x04: "submit_sm",
    0x05: "deliver_sm",
    0x06: "unbind",
    0x09: "bind_transceiver",
    0x15: "enquire_link",
}
CONFIG = """
group = core
admin-port = {admin}
smsbox-port = {box}
admin-password = bar
box-deny-ip = "*.*.*.*"
box-allow-ip = "127.0.0.1"

group = smsc
smsc = smpp
smsc-id = centre
host = 127.0.0.1
port = {port}
transceiver-mode = true
smsc-username = "kannel"
smsc-password = "secret"
system-type = "VMA"
address-range = ""
interface-version = 34
enquire-link-interval = 2
source-addr-autodetect = yes
dest-addr-ton = 1
dest-addr-npi = 1

group = smsbox
bearerbox-host = 127.0.0.1
sendsms-port = {http}
global-sender = 12345

group = sendsms-user
username = tester
password = foobar
max-messages = 10

group = sms-service
keyword = default
text = "No service specified"
"""
SENT = [
    {"from": "12345", "to": "447700900123", "text": "Hello, world"},
    {
        "from": "Heliograph",
        "to": "447700900123",
        "text": "With a receipt",
        "dlr-mask": "31",
        "dlr-url": "http://[::1]/",
    },
    {"from": "+447700900999", "to": "447700900123", "text": "Привет", "coding": "2", "charset": "UTF-8"},
    {"from": "12345", "to": "447700900123", "text": "Flash", "mclass": "0", "validity": "60"},
    {"from": "12345", "to": "447700900123", "text": "x" * 200},
]


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def frames(link: socket.socket, seconds: float) -> Iterator[bytes]:
    """Whole frames until nothing has come for so long, or the peer closes."""
    buffer = b""
    link.settimeout(seconds)
    with contextlib.suppress(TimeoutError, ConnectionResetError):
        while data := link.recv(65536):
            buffer += data
            while len(buffer) >= 4 and len(buffer) >= (length := int.from_bytes(buffer[:4], "big")):
                yield buffer[:length]
                buffer = buffer[length:]


def frame(command: int, sequence: int, body: bytes = b"") -> bytes:
    return HEADER.pack(16 + len(body), command, 0, sequence) + body


def answer(request: bytes) -> bytes | None:
    _, command, _, sequence = HEADER.unpack_from(request)
    if command & RESPONSE:
        return None
    bodies = {0x04: b"%d\0" % sequence, 0x05: b"\0", 0x01: b"centre\0", 0x02: b"centre\0", 0x09: b"centre\0"}
    return frame(command | RESPONSE, sequence, bodies.get(command, b""))


def row(peer: str, octets: bytes) -> dict[str, object]:
    _, command, status, sequence = HEADER.unpack_from(octets)
    name = NAMES[command & ~RESPONSE] + ("_resp" if command & RESPONSE else "")
    return {"peer": peer, "command": name, "sequence": sequence, "status": status, "hex": octets.hex()}


def run(program: Path, *arguments: str, cwd: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen([str(program), *arguments], cwd=cwd, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def send(port: int, message: dict[str, str]) -> None:
    query = urllib.parse.urlencode({"username": "tester", "password": "foobar"} | message)
    for _ in range(50):
        with contextlib.suppress(OSError):
            urllib.request.urlopen(f"http://127.0.0.1:{port}/cgi-bin/sendsms?{query}", timeout=5).read()
            return
        time.sleep(0.2)
    raise SystemExit("smsbox did not answer")


def bearerbox(folder: Path) -> list[dict[str, object]]:
    """A bind, the messages of SENT, an answer to a delivery, enquire_link, and the unbind."""
    ports = {name: free_port() for name in ("admin", "box", "http")}
    with socket.create_server(("127.0.0.1", 0)) as server, tempfile.TemporaryDirectory() as cwd:
        config = Path(cwd, "kannel.conf")
        config.write_text(CONFIG.format(port=server.getsockname()[1], **ports))
        bearer = run(folder / "bearerbox", str(config), cwd=cwd)
        link, _ = server.accept()
        rows = []
        box = run(folder / "smsbox", str(config), cwd=cwd)
        try:
            stage = 0
            for octets in frames(link, 5.0):
                rows.append(row("bearerbox", octets))
                if (reply := answer(octets)) is not None:
                    link.sendall(reply)
                if rows[-1]["command"] == "bind_transceiver":
                    for message in SENT:
                        send(ports["http"], message)
                    link.sendall(frame(0x05, 901, b"\0\1\1447700900123\0\0\112345\0" + bytes(10) + b"\2Hi"))
                elif rows[-1]["command"] == "enquire_link" and stage == 0:
                    stage = 1
                    bearer.terminate()
                elif rows[-1]["command"] == "unbind":
                    break
        finally:
            for process in (box, bearer):
                process.terminate()
                process.wait(20)
        return rows


def drive_smpp(folder: Path) -> list[dict[str, object]]:
    """Kannel's test centre, which knows no transceivers: what it answers to a transmitter, and delivers."""
    port = free_port()
    who = b"kannel\0secret\0VMA\0\x34\0\0\0"
    submit = b"\0\0\112345\0\1\1447700900123\0" + bytes(5) + b"\1\0\0\0\2Hi"
    with tempfile.TemporaryDirectory() as cwd:
        centre = run(folder / "drive_smpp", "-p", str(port), "-m", "2", cwd=cwd)
        try:
            rows = []
            with connect(port) as transmitter, connect(port) as receiver:
                transmitter.sendall(frame(0x02, 1, who) + frame(0x04, 2, submit) + frame(0x15, 3))
                receiver.sendall(frame(0x01, 1, who))
                for link in (transmitter, receiver):
                    for octets in frames(link, 2.0):
                        rows.append(row("drive_smpp", octets))
                        if (reply := answer(octets)) is not None:
                            link.sendall(reply)
                with contextlib.suppress(OSError):
                    transmitter.sendall(frame(0x06, 4))
                    rows += [row("drive_smpp", octets) for octets in frames(transmitter, 1.0)]
        finally:
            centre.terminate()
            centre.wait(20)
        return rows


def connect(port: int) -> socket.socket:
    for _ in range(50):
        with contextlib.suppress(OSError):
            return socket.create_connection(("127.0.0.1", port))
        time.sleep(0.1)
    raise SystemExit("drive_smpp does not listen")


def main() -> None:
    """Print the rows as JSON, one a line."""
    rows = bearerbox(Path(sys.argv[1])) + drive_smpp(Path(sys.argv[2]))
    print("[\n" + ",\n".join("  " + json.dumps(captured) for captured in rows) + "\n]")


if __name__ == "__main__":
    main()
