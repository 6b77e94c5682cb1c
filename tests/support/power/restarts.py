"""Kills under load with a power loss: the gateway is started again on the contents that a disk would have then."""

import shutil
from collections.abc import Callable
from pathlib import Path

from tests.support.crash import Toll, kill_under_load
from tests.support.power.disk import Disk, contents
from tests.support.power.recorder import Recorder


def lose_power_under_load(
    folder: Path,
    cuts: int,
    told: Callable[[int, int], None] = lambda cut, answered: None,
    *,
    load: int = 150,
    seed: int = 0,
    sync_us: int = 0,
    smpp: bool = False,
) -> Toll:
    """Like `kill_under_load`: the same must hold after a power loss."""
    recorder = Recorder(folder / "node0", folder / "log", sync_us=sync_us)
    before: dict[str, bytes] | None = None

    def replace(cut: int) -> None:
        nonlocal before
        entries = recorder.entries()
        disk = Disk(recorder.root, entries, before)
        disk.advance(len(entries))
        image = folder / "image"
        disk.write(image, seed + cut)
        shutil.rmtree(recorder.root)
        if image.exists():
            image.rename(recorder.root)
        recorder.log.unlink()
        before = contents(recorder.root)

    return kill_under_load(folder, cuts, recorder.settings, told, load=load, after=replace, smpp=smpp)
