"""Which method and which weights should be the default: at the number of classes, with and without ill members.

`python -m benchmarks.default [METHOD ...]` measures all or some methods round by round (every size of ensemble, every
pool, every share of ill members) and keeps what is finished in .cache/trust/default; `--table` prints what there is so
far. Data sets are split in two halves by a hash of their names: one decides, the other confirms.
"""

from __future__ import annotations

import itertools
import sys
import warnings
import zlib
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import numpy as np
from sklearn.metrics import adjusted_rand_score

import quorate as qt
from benchmarks.data import SHARED
from benchmarks.measure import Result
from benchmarks.mixtures import wide_case
from quorate._runtime.checkpoints import Store, peek
from quorate._utils.array_types import Floats
from quorate.benchmarking.comparison_tables import markdown_table
from quorate.benchmarking.contestants import make_contestant
from quorate.benchmarking.public_pools import Pool, Recipe, gather_pools, make_pool, read_pool
from quorate.datasets import NAMES

FOLDER = Path(".cache/trust/default")
GPMGLA, DEFAULT, BEFORE = "gp-mgla", "auto", "lwgp weights=trust beta=4 theta=0.8"
METHODS = (
    GPMGLA,
    "gp-mgla init=heaviest",
    "gp-mgla weights=trust",
    "gp-mgla weights=local",
    "lwgp",
    "lwgp weights=trust",
    "lwgp theta=0.8",
    "lwgp weights=trust beta=4",
    BEFORE,
    DEFAULT,
    "hbgf",
    "hbgf weights=trust",
    "hbgf weights=trust beta=4",
    "weac",
    "weac beta=8",
    "weac weights=trust",
    "lwea",
    "lwea weights=trust",
    "lwea weights=trust beta=4 theta=0.8",
)
SIZES = (10, 20, 50)
ILL = (0.0, 0.2, 0.4)
ROUNDS = 3
N_MIXTURES = 48
LARGE = ("pen_digits", "letters")
SEED = 2718
ABOUT = {"task": "default", "version": 2, "seed": SEED}
# The same data under other names: what decides must not confirm.
SAME = {
    "image_segmentation": "IS",
    "letters": "LR",
    "pen_digits": "PD",
    "FC": "FCT",
    "weac_gpmgla_1": "seeds",
    "weac_gpmgla_2": "FCT",
    "weac_gpmgla_3": "PD",
}


def spoil(labels: np.ndarray, random: np.random.Generator) -> np.ndarray:
    """Return an ill clustering (paper, section 7.4.3): one of the finer half, most of its clusters made one."""
    counts = labels.max(axis=0) + 1
    member = labels[:, random.choice(np.flatnonzero(counts >= np.median(counts)))]
    k = int(member.max()) + 1
    n_merged = int(np.clip(round(random.uniform(0.7, 0.99) * k), min(2, k - 1), k - 1))
    merged = random.choice(k, n_merged, replace=False)
    return np.where(np.isin(member, merged), merged[0], member)


def data_of(name: str) -> str:
    """Return the name of the data behind a pool."""
    return SAME.get(name, SAME.get(short := name.removeprefix("lwea_").removeprefix("pta_"), short))


def decides(name: str) -> bool:
    """Tell whether a pool is among those that decide; the others confirm."""
    return zlib.crc32(data_of(name).encode()) % 2 == 0


def real_pools() -> dict[str, Callable[[], Pool]]:
    """Return the public pools, and pools of k-means members of the eight datasets, the smaller first, by name."""
    public = sorted(SHARED.glob("*.npz"), key=lambda path: path.stat().st_size)
    recipe = Recipe(per_generator=60)

    def drawn(name: str) -> Pool:
        return gather_pools(name, recipe=recipe, cache=FOLDER / "pools", n_jobs=2)[0]

    pools = {name: partial(drawn, name) for name in NAMES if name not in LARGE}
    pools |= {path.stem: partial(read_pool, path) for path in public}
    return pools | {name: partial(drawn, name) for name in LARGE}


def mixture_pools() -> dict[str, Callable[[], Pool]]:
    """Return mixtures of Gaussians with six kinds of members; they are kept, as communities take time."""
    return {f"mixture {number}": partial(_kept_mixture, number) for number in range(N_MIXTURES)}


def _kept_mixture(number: int) -> Pool:
    path = FOLDER / "mixtures" / f"{number}.npz"
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        case = wide_case(number, SEED, 60)
        np.savez_compressed(path, name=case.name, labels=case.labels, classes=case.classes)
    with np.load(path) as kept:
        return make_pool(f"mixture {number}", list(kept["labels"].T), kept["classes"])


def measure(methods: Sequence[str]) -> None:
    """Measure what is not there yet: small ensembles first, so that a part of it tells already."""
    with warnings.catch_warnings(), Store(FOLDER / "scores.sqlite", ABOUT) as store:
        warnings.simplefilter("ignore")
        for number, size in itertools.product(range(ROUNDS), SIZES):
            for group, pools in (("real", real_pools()), ("mixtures", mixture_pools())):
                for name, load in pools.items():
                    _measure_pool(store, f"{group}/{name}/M={size}", load, size, number, methods)


def _measure_pool(
    store: Store, name: str, load: Callable[[], Pool], size: int, number: int, methods: Sequence[str]
) -> None:
    todo: dict[float, list[tuple[str, str]]] = {}
    for share, method in itertools.product(ILL, methods):
        key = f"{name}/{share:.0%} ill/draw={number}/{method}"
        if key not in store:
            todo.setdefault(share, []).append((key, method))
    if not todo or f"{name}/too small" in store:
        return
    pool = load()
    if pool.labels.shape[1] < size:
        store.add(f"{name}/too small", {})
        return
    for share, some in todo.items():
        ens = ensemble(pool, size, share, number)
        for key, method in some:
            store.add(key, {"ari": score(ens, pool, method)})


def ensemble(pool: Pool, n_members: int, share: float, number: int) -> qt.Ensemble:
    """Return an ensemble drawn from a pool, a share of its members replaced by ill ones."""
    labels = pool.draw(n_members, number, SEED)
    random = np.random.default_rng([SEED, zlib.crc32(pool.name.encode()), n_members, number])
    for member in range(round(share * n_members)):
        labels[:, member] = spoil(pool.labels, random)
    return qt.Ensemble(labels)


def score(ens: qt.Ensemble, pool: Pool, method: str) -> float:
    """Return the ARI of a method at the number of classes."""
    k = min(pool.n_classes, ens.n_clusters)
    return round(float(adjusted_rand_score(pool.classes, make_contestant(method).answer(ens, [k], 0)[:, 0])), 6)


def scores(group: str, methods: Sequence[str]) -> dict[tuple[str, int, str], list[Floats]]:
    """Return, for every pool, size and share of ill members, the ARI of some methods, draw by draw."""
    draws: dict[tuple[str, int, str, str], dict[str, float]] = {}
    for key, piece in peek(FOLDER / "scores.sqlite")[1].items():
        kind, pool, size, *rest = key.split("/")
        if kind == group and piece:
            share, draw, method = rest
            draws.setdefault((pool, int(size.removeprefix("M=")), share, draw), {})[method] = piece["ari"]
    found: dict[tuple[str, int, str], list[Floats]] = {}
    for (*where, _), of in draws.items():
        if all(method in of for method in methods):
            found.setdefault(tuple(where), []).append(np.array([of[method] for method in methods]))
    return found


def by_pool(found: dict[tuple[str, int, str], list[Floats]]) -> Floats:
    """(pools, methods) means: over draws, then over sizes and shares."""
    pools = sorted({key[0] for key in found})
    return np.array([np.mean([np.mean(v, axis=0) for key, v in found.items() if key[0] == p], axis=0) for p in pools])


def tables(methods: Sequence[str]) -> str:
    """Return the tables: mean ARI of every method, and its difference from GP-MGLA, over several sets of pools."""
    real, mixtures = scores("real", methods), scores("mixtures", methods)
    sets = {
        "deciding pools": {key: v for key, v in real.items() if decides(key[0])},
        "confirming pools": {key: v for key, v in real.items() if not decides(key[0])},
        "all real pools": real,
        "mixtures": mixtures,
    }
    text = differences(sets, methods)
    sizes = {f"M = {m}": {key: v for key, v in real.items() if key[1] == m} for m in SIZES}
    text += "\n" + differences(sizes, methods)
    shares = sorted({key[2] for key in real}, key=lambda share: float(share.split("%")[0]))
    return text + "\n" + differences({s: {key: v for key, v in real.items() if key[2] == s} for s in shares}, methods)


def differences(sets: dict[str, dict[tuple[str, int, str], list[Floats]]], methods: Sequence[str]) -> str:
    """Return a table with a line per method and a column per set: mean ARI (difference from the first ± its error)."""
    columns = []
    for found in sets.values():
        values = by_pool(found) if found else np.full((1, len(methods)), np.nan)
        gain = values - values[:, :1]
        error = gain.std(axis=0, ddof=1) / np.sqrt(len(gain)) if len(gain) > 1 else np.zeros(len(methods))
        mean = zip(values.mean(axis=0), gain.mean(axis=0), error, strict=True)
        columns.append([f"{m:.3f} ({g:+.3f} ± {e:.3f})" for m, g, e in mean])
    header = ["method", *(f"{name}: {len({key[0] for key in found})}" for name, found in sets.items())]
    return markdown_table(header, [list(line) for line in zip(methods, *columns, strict=True)])


def run(methods: Sequence[str] = METHODS) -> list[Result]:
    """Measure what is missing, print the tables, and compare the default with LWGP if both were measured."""
    measure(methods)
    print(tables(methods))
    both = (BEFORE, DEFAULT)
    if not set(both) <= set(methods):
        return []
    real, mixtures = scores("real", both), scores("mixtures", both)
    halves = [{key: v for key, v in real.items() if decides(key[0]) is half} for half in (True, False)]
    gains = [float((values[:, 1] - values[:, 0]).mean()) for values in map(by_pool, (*halves, mixtures))]
    bars = dict.fromkeys(("deciding pools", "confirming pools", "mixtures"), -0.005)
    return [
        Result(f"ARI of the default beyond LWGP, {name}", gain, 0.0, "ARI", gain, f">= {bar}", gain >= bar)
        for (name, bar), gain in zip(bars.items(), gains, strict=True)
    ]


if __name__ == "__main__":
    some = [name for name in sys.argv[1:] if name != "--table"] or METHODS
    if "--table" in sys.argv:
        print(tables(some))
    else:
        run(some)
