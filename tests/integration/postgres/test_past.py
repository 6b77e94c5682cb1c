"""A server that lost confirmed commits is refused, whichever way a gateway came to it."""

import asyncio
from pathlib import Path

import pytest

from heliograph.adapters.store.postgres import PostgresStore
from heliograph.app.facts import Facts
from heliograph.app.marks import attempted
from heliograph.app.ports import Fenced, PastLost
from heliograph.runtime.outage import Outage
from heliograph.runtime.past import FILE_NAME, PastKeeper, load_past
from tests.support.customer import Customer
from tests.support.gateway import MemoryJournal
from tests.support.ports import free_port
from tests.support.postgres import LIMITS, Server, server
from tests.support.process import Admin, GatewayProcess, eventually
from tests.support.store import NODE
from tests.support.switchable_relay import SwitchableRelay
from tests.support.virtual_time import VirtualClock

LOSE = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{name}' AND pid <> pg_backend_pid()"


class Scene:
    """A store with the guard of a data directory."""

    def __init__(self, url: str, data: Path) -> None:
        self.url = url
        self.name = url.rpartition("/")[2]
        self._data = data
        self.keeper = self.keeper_again()

    def keeper_again(self) -> PastKeeper:
        """As after a restart."""
        return PastKeeper(self._data, VirtualClock(), MemoryJournal())

    async def opened(self, keeper: PastKeeper | None = None) -> PostgresStore:
        return await PostgresStore.open(self.url, limits=LIMITS, guard=keeper or self.keeper)

    async def execute(self, text: str) -> None:
        await server().execute(text, self.name)
        await server().execute(LOSE.format(name=self.name), self.name)


@pytest.fixture
def scene(url: str, tmp_path: Path) -> Scene:
    return Scene(url, tmp_path)


async def moved(keeper: PastKeeper, store: PostgresStore, times: int = 1) -> None:
    for _ in range(times):
        await keeper._move(store.past)


async def test_a_connection_to_an_older_past_is_refused(scene: Scene) -> None:
    keeper = scene.keeper
    store = await scene.opened()
    keeper.begin()
    await moved(keeper, store, 3)
    assert keeper.known.moves == 3
    assert keeper.known.timeline == 1
    await store.upkeep.probe()
    await scene.execute("UPDATE past_mark SET moves = 2")
    with pytest.raises(PastLost, match=r"its newest mark .* \(timeline 1\), and a mark of .* heliograph restored"):
        await store.upkeep.probe()
    with pytest.raises(PastLost):
        await store.commits.record(Facts(marks={attempted(1): 1}))
    # the server with all commits is back
    await scene.execute("UPDATE past_mark SET moves = 3")
    await store.past.find(keeper.known)
    await store.upkeep.probe()
    await store.close()


async def test_rows_that_are_set_back_under_open_connections_are_found_by_the_next_move(scene: Scene) -> None:
    keeper = scene.keeper
    store = await scene.opened()
    keeper.begin()
    await moved(keeper, store, 3)
    await server().execute("UPDATE past_mark SET moves = 1", scene.name)
    with pytest.raises(PastLost):
        await moved(keeper, store)
    with pytest.raises(PastLost):
        await store.upkeep.probe()
    assert [row[0] for row in await server().fetch("SELECT moves FROM past_mark", scene.name)] == [1]
    await store.close()


async def test_a_single_lost_commit_is_found_by_the_connections_number(scene: Scene) -> None:
    keeper = scene.keeper
    store = await scene.opened()
    await store.commits.recover(0, NODE)
    keeper.begin()
    await moved(keeper, store)
    for value in (1, 2):
        await store.commits.record(Facts(marks={attempted(1): value}))
    await scene.execute("UPDATE writer SET seq = seq - 1")
    with pytest.raises(PastLost, match="it lacks 1 of the last confirmed commits"):
        await store.upkeep.probe()
    await store.close()
    # a restart knows it as well
    with pytest.raises(PastLost, match="it lacks 1 of the last"):
        await scene.opened(scene.keeper_again())


async def test_an_accepted_loss(scene: Scene) -> None:
    keeper = scene.keeper
    store = await scene.opened()
    keeper.begin()
    await moved(keeper, store, 3)
    await scene.execute("DELETE FROM past_mark")
    with pytest.raises(PastLost, match="it has no mark of this data directory"):
        await store.upkeep.probe()
    person = await PostgresStore.open(scene.url, limits=LIMITS)
    await person.past.accept(77, 0)
    await person.close()
    # the process has work of the lost past in its memory
    with pytest.raises(Fenced):
        await asyncio.wait_for(keeper.keep(store.past, Outage(VirtualClock(), MemoryJournal())), 10)
    await store.close()
    again = scene.keeper_again()
    store = await scene.opened(again)
    await moved(again, store)
    assert again.known.forks == (77,)
    assert again.known.moves == 1
    await store.close()


async def test_a_new_directory_an_empty_database_and_a_restart(scene: Scene, tmp_path: Path) -> None:
    store = await scene.opened()
    await moved(scene.keeper, store)
    await store.past.accept(5, 0)
    await store.close()
    other = tmp_path / "other"
    other.mkdir()
    newcomer = PastKeeper(other, VirtualClock(), MemoryJournal())
    for keeper in (newcomer, scene.keeper_again()):
        store = await scene.opened(keeper)
        await moved(keeper, store, 2)
        assert keeper.known.forks == (5,)
        await store.close()
    known = load_past(other)
    assert known is not None
    assert known.directory == newcomer.known.directory
    assert [path.name for path in other.iterdir()] == [FILE_NAME]
    scene.url = await server().empty()
    with pytest.raises(PastLost, match="no mark"):
        await scene.opened(scene.keeper_again())
    assert (
        await server().fetch("SELECT 1 FROM pg_namespace WHERE nspname = 'heliograph'", scene.url.rpartition("/")[2])
        == []
    )


class Swap:
    """An older copy of a database, and its place behind a relay: as a failover that lost commits, for a URL with one
    host."""

    def __init__(self, own: Server, name: str, relay: SwitchableRelay) -> None:
        self._own = own
        self._name = name
        self._relay = relay

    def copy(self) -> None:
        self._change(f"CREATE DATABASE older TEMPLATE {self._name}")

    def go_back(self) -> None:
        self._change(f"ALTER DATABASE {self._name} RENAME TO newer", f"ALTER DATABASE older RENAME TO {self._name}")

    def come_back(self) -> None:
        self._change(f"ALTER DATABASE {self._name} RENAME TO older", f"ALTER DATABASE newer RENAME TO {self._name}")

    def _change(self, *statements: str) -> None:
        self._relay.cut()
        for each in (LOSE.format(name=self._name), *statements):
            asyncio.run(self._own.execute(each))
        self._relay.plug_in()


@pytest.mark.slow
def test_a_gateway_with_one_host_refuses_a_rolled_back_database(own_server: Server, tmp_path: Path) -> None:
    name = asyncio.run(own_server.fresh()).rpartition("/")[2]
    admin = Admin(tmp_path / "data", {"HELIOGRAPH_DATABASE_URL": own_server.url(name)})
    account = admin.account()
    admin.operator(free_port())
    with SwitchableRelay(own_server.port) as relay:
        swap = Swap(own_server, name, relay)
        settings = {"HELIOGRAPH_DATABASE_URL": f"postgresql://postgres@127.0.0.1:{relay.port}/{name}"}
        with (
            GatewayProcess(tmp_path / "data", settings=settings) as gateway,
            Customer(gateway.url, "acme", account["api_key"]) as customer,
        ):

            def ready() -> bool:
                return customer.get("/health/ready").status == 200

            def send(number: int) -> int:
                fields = {"from": "Heliograph", "to": f"49170000000{number}", "content": "Hello"}
                return customer.form("/api/v1/messages", fields).status

            assert send(1) == 200
            eventually(lambda: (tmp_path / "data" / FILE_NAME).exists(), "a mark")
            swap.copy()
            eventually(lambda: send(2) == 200, "it goes on after a break")
            swap.go_back()
            eventually(lambda: "past.lost" in gateway.err, "it finds the loss")
            eventually(lambda: not ready(), "it is not ready")
            assert send(3) == 503
            assert b"heliograph_past_lost 1" in customer.get("/metrics").body
            swap.come_back()
            eventually(ready, "it goes on by itself where nothing is lost")
            assert send(4) == 200
            assert b"heliograph_past_lost 0" in customer.get("/metrics").body
            swap.go_back()
            eventually(lambda: gateway.err.count("past.lost") >= 2, "once more")
            assert send(5) == 503
            gateway.kill()
        serving = {"name": "again", "settings": settings}
        assert "lost confirmed commits" in admin.run("doctor", "--json").stdout
        assert admin("restored")["loss"]
        with GatewayProcess(tmp_path / "data", **serving) as gateway:  # type: ignore[arg-type]
            assert gateway.stop() == 0
    assert admin.balance() == "999"
    admin.assert_books_right()
