"""Offers fakes for tests of the use cases: facts to look at, a clock to set, a carrier and a sender that only take
notes."""

from collections.abc import Callable, Collection, Sequence
from typing import Any

from heliograph.app.connector_kind import FailoverPolicy, LanePolicy
from heliograph.app.dispatch.dispatcher import Dispatcher
from heliograph.app.facts import Accept, Facts, Message, Verdict
from heliograph.app.ports import Accepted, CarrierState, Outcome, Part, Question
from heliograph.app.routing.candidates import Candidate, Routed, another, chosen
from heliograph.app.webhook_job import TryResult, WebhookJob
from heliograph.domain.message.ids import IdSequence
from heliograph.domain.message.state import Kind, State
from heliograph.domain.message.way import Way
from heliograph.domain.text.segment import HEADER_OCTETS, count
from tests.support.store import CREDIT, HOUR, START

LONG = "x" * 400
"""Three parts."""


class PortedServer:
    """Fakes `app.ports.PortedNumbers`: a server that is asked about each number once."""

    def __init__(self, known: Sequence[str] = ("447700900123",)) -> None:
        self.known = set(known)
        self.asked: list[str] = []

    def find(self, number: str) -> str:
        return {"447700900123": "23433"}.get(number, "") if number in self.known else ""

    def source(self, number: str) -> str:
        return f"a test of {number}"

    def unknown(self, numbers: Sequence[str]) -> Sequence[str]:
        return [number for number in numbers if number not in self.known]

    async def ask(self, numbers: Sequence[str]) -> None:
        self.asked += numbers
        self.known.update(numbers)

    async def refresh(self) -> None:
        """Has the same numbers for ever."""

    async def close(self) -> None:
        """Has no connection."""


class NotedGathering:
    """Fakes `app.ports.Gathering`: keeps the facts, and counts the calls."""

    def __init__(self) -> None:
        self.facts = Facts()
        self.woken = 0
        self.feeder_wakes = 0
        self.lookup_wakes = 0

    def wake(self) -> None:
        self.woken += 1

    def wake_later(self) -> None:
        self.woken += 1

    def wake_feeder(self) -> None:
        self.feeder_wakes += 1

    def wake_lookups(self) -> None:
        self.lookup_wakes += 1

    def take(self) -> Facts:
        """Returns the gathered facts; later facts go into a new object."""
        facts, self.facts = self.facts, Facts()
        return facts


class SetClock:
    """Fakes `app.ports.Clock`: stands still until it is moved."""

    def __init__(self) -> None:
        self.ms = START
        self.seconds = 1_000.0

    def now(self) -> int:
        return self.ms

    def monotonic(self) -> float:
        return self.seconds

    def pass_ms(self, ms: int) -> None:
        self.ms += ms
        self.seconds += ms / 1000


class NotedCarrier:
    """`app.ports.Carrier` that keeps the submitted parts."""

    header_octets = HEADER_OCTETS

    def __init__(self, capacity: int = 10) -> None:
        self.capacity = capacity
        self.parts: list[Part] = []
        self.questions: list[Question] = []

    def submit(self, parts: Sequence[Part]) -> None:
        self.parts += parts

    @property
    def can_ask(self) -> bool:
        return len(self.questions) < self.capacity

    def ask(self, question: Question) -> None:
        self.questions.append(question)

    def state(self) -> CarrierState:
        return CarrierState()

    async def drain(self, deadline: float) -> None:
        """Does nothing; no part is in flight."""

    def take(self) -> list[Part]:
        parts, self.parts = self.parts, []
        return parts

    @property
    def keys(self) -> list[int]:
        return [part.message.key for part in self.parts]


class NotedSender:
    """Fakes `app.ports.WebhookSender`: keeps the jobs, and reports the results that it is told to."""

    def __init__(self) -> None:
        self.jobs: list[WebhookJob] = []
        self._sent: Callable[[list[TryResult]], None] = lambda _: None
        self._lost: Callable[[], None] = lambda: None

    def post(self, jobs: Sequence[WebhookJob]) -> None:
        self.jobs += jobs

    def on_sent(self, listener: Callable[[list[TryResult]], None]) -> None:
        self._sent = listener

    def on_lost(self, listener: Callable[[], None]) -> None:
        self._lost = listener

    def end(self, key: int, code: int, problem: str = "", *, busy: bool = False) -> None:
        self._sent([TryResult(key, code, problem or ("" if 200 <= code < 300 else f"HTTP {code}"), busy)])

    def lose(self) -> None:
        self._lost()

    async def close(self) -> None:
        """Does nothing."""


class Messages:
    """Makes messages, their keys ascending."""

    def __init__(self, clock: SetClock) -> None:
        self.clock = clock
        self._sequence = IdSequence(0)

    def __call__(self, content: str = "Hello", **fields: Any) -> Message:
        now = self.clock.now()
        segments = count(content, Kind.TEXT)[1]
        values: dict[str, Any] = {
            "account": 1, "destination": "4917012345678", "sender": "Heliograph", "kind": Kind.TEXT,
            "content": content, "segments": segments, "price": segments * CREDIT, "time": now,
            "expires": now + 24 * HOUR, "state": State.SENT, "connector": 1, "wants_receipt": True,
            "way": Way.WEBHOOK, "callback_url": "http://example.com/receipt",
        }  # fmt: skip
        message = Message(**(values | fields))
        message.key = message.key or self._sequence.next(now)
        return message


def accept_of(*messages: Message, verdict: Verdict = Verdict.UNAVAILABLE) -> Accept:
    first = messages[0]
    total = sum(message.price for message in messages)
    return Accept(first.account, list(messages), total, first.time, batch=len(messages) > 1, verdict=verdict)


def accepted(number: object) -> Outcome:
    return Accepted(str(number))


def open_lanes(dispatcher: Dispatcher, policy: FailoverPolicy) -> dict[int, NotedCarrier]:
    """Opens the lanes of the connectors 1 to 3 without a limit, and returns their carriers."""
    carriers = {connector: NotedCarrier() for connector in (1, 2, 3)}
    for connector, carrier in carriers.items():
        lane = dispatcher.lane(connector)
        lane.policy = LanePolicy(failover=policy)
        lane.window.carrier = carrier
        lane.window.pace.limit(0.0, 1_000_000.0)
    return carriers


class SetRouter:
    """`app.dispatch.failover.Router` by which all messages have the same candidates. `routes` names another connector
    for some numbers."""

    def __init__(self, *candidates: int) -> None:
        self.found = [Candidate(connector) for connector in candidates]
        self.routes: dict[str, int] = {}
        self.obstacles: dict[int, str] = {}
        self.excluded: set[int] = set()

    def route(self, message: Routed) -> int | None:
        return self.routes.get(message.destination, chosen(self.found, self.obstacles))

    def another(self, message: Routed, tried: Collection[int]) -> int | None:
        return another(self.found, self.obstacles, tried)

    def remaining(self, message: Routed, tried: Collection[int]) -> int | None:
        return chosen([each for each in self.found if each.connector not in tried], self.obstacles)

    def obstacle(self, connector: int) -> str:
        return self.obstacles.get(connector, "")

    def is_excluded(self, message: Routed, connector: int) -> bool:
        return connector in self.excluded

    def others(self, connector: int) -> list[int]:
        connectors = [each.connector for each in self.found]
        return [each for each in connectors if each != connector and each not in self.obstacles]
