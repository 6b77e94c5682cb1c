"""Fuzzes SMPP with atheris, which is no dependency of the project: `pip install atheris` first, and then

    python -m tests.fuzz.run TARGET [CORPUS] [-max_total_time=600 ...]

TARGET is one of `targets.TARGETS`; what follows is libFuzzer's. An input that is found is written to a file
`crash-...`; `python -m tests.fuzz.run TARGET crash-...` tries it again.
"""

import sys

import atheris

with atheris.instrument_imports(include=["heliograph"]):
    from tests.fuzz.targets import TARGETS


def main() -> None:
    name = sys.argv.pop(1) if len(sys.argv) > 1 else ""
    if name not in TARGETS:
        sys.exit(f"say which: {', '.join(TARGETS)}")
    atheris.Setup(sys.argv, TARGETS[name])
    atheris.Fuzz()


if __name__ == "__main__":
    main()
