"""The faults of the trials. Each begins while messages flow, and returns when they flow again."""

import signal
import time
from collections.abc import Callable

from tests.ha.cluster import DATABASES, send
from tests.ha.scene import Scene

TTL_S = 20.0
"""Seconds until Patroni replaces a silent leader: `ttl` of ops/ha/patroni.yml."""


def nothing(scene: Scene) -> None:
    """A run without a fault."""
    scene.flow()


def kill_leader(scene: Scene) -> None:
    """kill -9 of the leader and its Patroni."""
    leader = scene.cluster.leader()
    scene.cluster.kill_database(leader)
    scene.wait_for_leader(leader)
    scene.flow()


def switchover(scene: Scene) -> None:
    """A planned change of the leader, as `patronictl` makes it."""
    leader = scene.cluster.leader()
    candidate = scene.cluster.synchronous()
    scene.cluster.patronictl("switchover", "sms", "--master", leader, "--candidate", candidate, "--force")
    scene.wait_for_leader(leader)
    scene.flow()


def stop_leader(scene: Scene) -> None:
    """SIGSTOP of the leader and its Patroni, and SIGCONT when another has led for a while."""
    leader = scene.cluster.leader()
    stopped = scene.cluster.servers(leader)
    send(signal.SIGSTOP, stopped)
    scene.wait_for_leader(leader)
    scene.flow(1000)
    send(signal.SIGCONT, stopped)
    scene.flow(1000)


def stop_standby(scene: Scene) -> None:
    """SIGSTOP of the synchronous standby: no commit is confirmed until Patroni takes the other standby."""
    standby = scene.cluster.synchronous()
    stopped = scene.cluster.servers(standby)
    send(signal.SIGSTOP, stopped)
    scene.cluster.until(lambda: scene.cluster.synchronous() not in ("", standby), "another synchronous standby")
    scene.flow()
    send(signal.SIGCONT, stopped)


def cut_standbys(scene: Scene) -> None:
    """No standby gets the leader's log; then the leader dies, with all that it did not replicate."""
    leader = scene.cluster.leader()
    receivers = scene.cluster.walreceivers()
    assert len(receivers) == 2
    send(signal.SIGSTOP, receivers)
    time.sleep(6)  # less than `wal_sender_timeout`: the synchronous standby stays the candidate
    scene.cluster.kill_database(leader)
    send(signal.SIGKILL, receivers)
    scene.wait_for_leader(leader)
    scene.flow()


def lose_quorum(scene: Scene) -> None:
    """Two of three etcd die. The leader steps down, and there is none until etcd has a quorum again."""
    for node in DATABASES[1:]:
        scene.cluster.kill_etcd(node)
    scene.cluster.until(lambda: not scene.cluster.leader(), "no leader")
    time.sleep(10)
    for node in DATABASES[1:]:
        scene.cluster.start_etcd(node)
    scene.wait_for_leader("")
    scene.flow()


def black_hole(scene: Scene) -> None:
    """Nothing passes between gateways and databases, and no connection is closed."""
    for relay in scene.relays:
        relay.unplug()
    time.sleep(20)
    for relay in scene.relays:
        relay.plug_in()
    scene.flow()


def rolling_restart(scene: Scene) -> None:
    """A stop and a start of each gateway, one after the other."""
    for gateway in scene.gateways:
        gateway.restart()
        scene.flow(200)


def kill_gateway_and_leader(scene: Scene) -> None:
    """kill -9 of the leader, and of a gateway a second later."""
    leader = scene.cluster.leader()
    scene.cluster.kill_database(leader)
    time.sleep(1)
    scene.gateways[0].kill()
    scene.wait_for_leader(leader)
    scene.flow()


TRIALS: dict[str, Callable[[Scene], None]] = {
    trial.__name__: trial
    for trial in (
        nothing, kill_leader, switchover, stop_leader, stop_standby, cut_standbys, lose_quorum, black_hole,
        rolling_restart, kill_gateway_and_leader,
    )
}  # fmt: skip
RELAYED = {"black_hole"}
"""Trials in which relays stand between gateways and databases."""
