"""What docs/trust.md says, measured: trust beyond chance, the default, how many clusters, structure, an ordinary user.

`python -m benchmarks trust` runs all parts one after the other; each keeps what is finished in .cache/trust (structure
in .cache/structure) and goes on from there. Every part also runs alone, as `python -m benchmarks.junk`.
"""

from __future__ import annotations

from benchmarks import default, how_many, junk, label_structure, ordinary, robust, structure
from benchmarks.measure import Result


def run() -> list[Result]:
    """Run all parts, printing their tables, and return whether the bars are reached."""
    return [
        *robust.run(),
        *junk.run(),
        *ordinary.run(),
        *how_many.run(),
        *structure.run(),
        *label_structure.run(),
        *default.run(),
    ]
