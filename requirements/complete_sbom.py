"""Completes the list of parts that cyclonedx-py makes of a lock: `complete_sbom.py FILE`.

The tool does not know which version of the program the lock is of, nor that the program takes all that is locked; and
it describes each part by its line of the lock, hashes and all, which the part has beside.
"""

import json
import re
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
PROGRAM = "heliograph"


def complete(bom: dict, version: str) -> dict:
    """Returns the list with the version of the program, and with all parts as what it depends on."""
    program = bom["metadata"]["component"]
    if program["name"] != PROGRAM or not bom["components"]:
        raise ValueError("this is no list of the program's parts")
    program["version"] = version
    program["purl"] = f"pkg:pypi/{PROGRAM}@{version}"
    program["bom-ref"] = PROGRAM
    for part in bom["components"]:
        part.pop("description", None)
        if not any(reference.get("hashes") for reference in part.get("externalReferences", ())):
            raise ValueError(f"{part['name']} has no hash")
    parts = sorted(part["bom-ref"] for part in bom["components"])
    bom["dependencies"] = [{"ref": PROGRAM, "dependsOn": parts}, *({"ref": part} for part in parts)]
    return bom


def version_of(source: str) -> str:
    """Returns the version that the package's module names."""
    return re.findall(r'^__version__ = "([^"]+)"$', source, re.MULTILINE)[0]


def main() -> None:
    file = Path(sys.argv[1])
    version = version_of((ROOT / "src" / PROGRAM / "__init__.py").read_text(encoding="utf-8"))
    bom = complete(json.loads(file.read_text(encoding="utf-8")), version)
    file.write_text(json.dumps(bom, indent=2, sort_keys=True) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
