"""Processes stand still for a while, and those that a test has stopped are let alone."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from random import Random

import pytest

from tests.support.process import eventually
from tests.support.processes import processes
from tests.support.strain import STOPPED, Strain

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="processes are found in /proc")


@contextmanager
def parent_and_child() -> Iterator[tuple[int, int]]:
    with subprocess.Popen(["sh", "-c", "sleep 600 & echo $!; wait"], stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        child = int(parent.stdout.readline())
        try:
            yield parent.pid, child
        finally:
            os.kill(child, signal.SIGKILL)


def stands_still(pid: int) -> bool:
    return next(each.state == STOPPED for each in processes() if each.pid == pid)


def test_a_process_stands_still_and_goes_on_and_its_root_never_does() -> None:
    with parent_and_child() as (root, child):
        strain = Strain(root, Random(1))
        while not strain.pauses:
            strain.look()
        eventually(lambda: stands_still(child), "the signal is heard")
        assert not stands_still(root)
        strain.end()
        eventually(lambda: not stands_still(child), "it goes on")


def test_who_was_stopped_by_another_is_neither_stopped_nor_woken() -> None:
    with parent_and_child() as (root, child):
        os.kill(child, signal.SIGSTOP)
        eventually(lambda: stands_still(child), "the signal is heard")
        strain = Strain(root, Random(1))
        for _ in range(100):
            strain.look()
        strain.end()
        assert strain.pauses == 0
        assert stands_still(child)
