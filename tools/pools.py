"""Draw the paper's eight pools (100 members per method, seed 0, standard scaling) and describe them.

    python tools/pools.py FOLDER [--jobs N] [--datasets NAME ...] [--table docs/pools.md]

Finished members are kept in FOLDER, one file per dataset; run again to go on after an interruption. The table is
written once all pools are there.
"""

import argparse
from pathlib import Path

import numpy as np

from quorate import datasets, evaluate
from quorate.features import METHODS, Pool, draw_pool

HEADER = """# The paper's pools

Each pool has 100 members per method, drawn by `quorate.features.draw_pool` with seed 0 on standardized features. The
table was made by

    {command}

NMI is the mean agreement of members with the classes (square-root normalization); redraws are trivial clusterings that
were drawn again; seconds are the total of all members, each on one core, redraws included. The machine had other work
at the time, so that times are upper bounds.

| dataset | method | members | clusters min / median / max | NMI | redraws | seconds |
|---|---|---:|---:|---:|---:|---:|
"""


def describe(name: str, pool: Pool) -> str:
    """Return the table's lines for one pool."""
    classes = datasets.load(name).classes
    lines = []
    for method in METHODS:
        chosen = [j for j, member in enumerate(pool.members) if member.method == method]
        clusters = [pool.members[j].n_clusters for j in chosen]
        nmi = np.mean([evaluate(pool.labels[:, j], classes).nmi_sqrt for j in chosen])
        redraws = sum(pool.members[j].redraws for j in chosen)
        seconds = sum(pool.members[j].seconds for j in chosen)
        lines.append(
            f"| {name} | {method} | {len(chosen)} | {min(clusters)} / {np.median(clusters):g} / {max(clusters)} "
            f"| {nmi:.3f} | {redraws} | {seconds:.0f} |\n"
        )
    return "".join(lines)


def main() -> None:
    """Draw what is missing, then write the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--datasets", nargs="+", choices=datasets.NAMES, default=datasets.NAMES)
    parser.add_argument("--table", type=Path)
    arguments = parser.parse_args()
    subset = "" if arguments.datasets == datasets.NAMES else f" --datasets {' '.join(arguments.datasets)}"
    table = HEADER.format(command=f"python tools/pools.py FOLDER --jobs {arguments.jobs}{subset} --table docs/pools.md")
    for name in arguments.datasets:
        pool = draw_pool(name, n_jobs=arguments.jobs, path=arguments.folder / f"{name}.sqlite")
        print(f"{name}: {pool}", flush=True)
        table += describe(name, pool)
    if arguments.table is not None:
        arguments.table.write_text(table)


if __name__ == "__main__":
    main()
