"""The receiver of callbacks that other tests have leaves nothing open for them to be blamed for."""

import gc
import socket
import threading

from tests.support.background_sink import BackgroundSink
from tests.support.timeouts import PATIENCE_S


def test_whoever_comes_as_it_ends_is_hung_up_on() -> None:
    held, over = threading.Event(), threading.Event()

    def hold() -> None:
        held.set()
        over.wait(PATIENCE_S)

    with BackgroundSink() as sink:
        sink._loop.call_soon_threadsafe(hold)
        held.wait(PATIENCE_S)
        with socket.create_connection(("127.0.0.1", sink.sink.port), PATIENCE_S):
            # its loop hears of the connection and of its own end in one turn
            threading.Timer(0.1, over.set).start()
    del sink
    gc.collect()  # of what was left open there is a warning here, which is an error
