"""The leaderboard: every method on every public pool, at the number of classes and at the best k.

`python -m benchmarks.leaderboard [RESULTS] [--only PART] [--jobs N]` goes on with what RESULTS (by default
`.cache/leaderboard`) holds; with `--page docs/leaderboard.md` it writes the page from the rounds of draws that are
complete. The pools are in ../shared/ensembles. The parts have a results folder each; the
ensembles of a size and a draw are the same in all of them.
"""

from __future__ import annotations

import argparse
import csv
import textwrap
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

import quorate as qt
from quorate._runtime.checkpoints import peek
from quorate.algorithms.registry import METHODS
from quorate.benchmarking.comparison import read_comparison
from quorate.benchmarking.comparison_report import draw_ranks
from quorate.benchmarking.comparison_tables import Comparison, markdown_table
from quorate.benchmarking.results_folder import STORE

SHARED = Path(__file__).resolve().parents[2] / "shared"
RESULTS = Path(".cache/leaderboard")
SLOW = ("pta", "ptgp", "srs", "wcc")
LEFT_OUT = ("ecmc",)  # half a minute on the smallest pools
GRID = (2, 3, 4, 5, 6, 8, 10, 12, 15, 20, 25, 30, 40)
# Settings of the prototype whose figures benchmarks.quality compares with, where they are not the defaults.
AS_SPECIFIED = {
    **{method: f"{method} init=heaviest" for method in ("lwgp", "lce", "hbgf", "cspa")},
    "gp-mgla": "gp-mgla init=heaviest normalize=max",
    "gp-mgla, k-means++": "gp-mgla start=k-means++ normalize=max",
    "lwgp, k-means++": "lwgp start=k-means++",
    "weac": "weac normalize=max",
    "median": "benchmarks.quality:median_of_any_k",
    "lwea, NCAI weights": "lwea weights=ncai normalize=max",
    "kcc, random starts": "kcc init=random",
    "mixture, random starts": "mixture init=random",
    "sec, random starts": "sec init=random",
}
# Names in the published table (TKDE 2016, Table 9) of methods that are here.
PUBLISHED = {
    "pta": "PTA-AL",
    "pta linkage=complete": "PTA-CL",
    "pta linkage=single": "PTA-SL",
    "ptgp": "PTGP",
    "weac": "WEAC-AL",
    "gp-mgla": "GP-MGLA",
    "eac": "EAC-AL",
    "hbgf": "HBGF",
    "wct": "WCT-AL",
    "srs": "SRS-AL",
    "cspa": "CSPA",
    "mcla": "MCLA",
}


# Means over the 15 LWEA pools that were published with them.
PUBLISHED_MEANS = {
    "lwea": 0.5556,
    "lwgp": 0.5498,
    "gp-mgla": 0.5319,
    "hbgf": 0.5270,
    "weac": 0.5253,
    "eac": 0.5111,
    "mcla": 0.4907,
    "cspa": 0.4661,
    "kcc": 0.4265,
    "sec": 0.3874,
}
# Entries of the survey of methods that are here.
SURVEYED = {
    "lwgp": "LWEA_LWGP_TCYB18_2",
    "lwea": "LWEA_LWGP_TCYB18_1",
    "lce": "LCE_",
    "ecpcs-mc": "ECPCS_TSMCS21_2",
    "ecpcs-hc": "ECPCS_TSMCS21_1",
    "ptgp": "PTA_TKDE16_4",
    "pta": "PTA_TKDE16_1",
    "sec": "SEC_TKDE17_1",
}


def public_pools() -> list[Path]:
    """Return the pools of 100 and 200 members that their authors published."""
    paths = [path for path in (SHARED / "ensembles").glob("*.npz") if path.stem.startswith(("lwea_", "pta_"))]
    return sorted(paths, key=lambda path: path.stat().st_size)


@dataclass(frozen=True)
class Part:
    """Some methods on ensembles of one size."""

    methods: dict[str, str]
    n_members: int
    draws: int
    best_k: bool = False
    timeout: float = 300.0
    """Seconds for one ensemble, at all numbers of clusters."""


QUICK = {name: name for name in METHODS if name not in (*SLOW, *LEFT_OUT)}
PARTS = {
    "10": Part(QUICK, 10, 20, best_k=True),
    "20": Part(QUICK, 20, 20, best_k=True),
    "10, one k": Part(QUICK, 10, 1),  # for the seconds of one number of clusters
    "20, one k": Part(QUICK, 20, 1),
    "specified": Part(AS_SPECIFIED, 10, 10),
    "slow": Part({name: name for name in (*SLOW, "pta linkage=complete", "pta linkage=single")}, 10, 3),
}


def run(folder: Path, name: str, jobs: int) -> None:
    """Measure a part, or go on measuring."""
    part = PARTS[name]
    qt.bench(
        public_pools(),
        part.methods,
        folder / name,
        n_members=part.n_members,
        draws=part.draws,
        best_k=GRID if part.best_k else False,
        timeout=part.timeout,
        n_jobs=jobs,
    )


def read(folder: Path, name: str) -> Comparison | None:
    """Return the measurements of a part: the draws that all methods have on all pools.

    Before the first such round is complete, it is the pools that are.
    """
    if not (folder / name / STORE).exists():
        return None
    about, pieces = peek(folder / name / STORE)
    found = read_comparison(about, pieces)
    whole = [[_is_whole(found, pool, draw) for pool in found.pools] for draw in range(found.draws)]
    n_rounds = next((draw for draw, pools in enumerate(whole) if not all(pools)), found.draws)
    if n_rounds:
        return replace(found, draws=n_rounds)
    pools = tuple(pool for pool, done in zip(found.pools, whole[0], strict=True) if done)
    return replace(found, draws=1, pools=pools) if pools else None


def _is_whole(found: Comparison, pool: str, draw: int) -> bool:
    return all(f"{pool}/M={found.sizes[0]}/draw={draw}/{method}" in found.pieces for method in found.methods)


def standings(found: Comparison, seconds: Mapping[str, float], *, best_k: bool = False) -> str:
    """Return mean ranks and scores, a line per method, the best rank first."""
    ranking = found.ranking("max", best_k=best_k)
    rank = dict(zip(ranking.methods, ranking.mean_ranks, strict=True))
    scores = [found.means(score, best_k=best_k) for score in ("max", "ari")]
    lines = []
    for j, name in enumerate(found.methods):
        done = ~np.isnan(scores[0][:, j])
        took = seconds.get(name, np.nan)
        figures = [_figure(values[:, j].mean()) for values in scores]
        line = [name, _figure(rank.get(name, np.nan), 2), *figures, _figure(took), f"{done.sum()}/{len(done)}"]
        lines.append((rank.get(name, np.inf), line))
    header = ["method", "mean rank", "NMI (max)", "ARI", "seconds", "pools"]
    return markdown_table(header, [line for _, line in sorted(lines, key=lambda pair: pair[0])])


def median_seconds(found: Comparison | None) -> dict[str, float]:
    """Return the median over pools and draws of what each method takes for an ensemble."""
    if found is None:
        return {}
    seconds = found.values("seconds")
    return {name: float(np.nanmedian(seconds[:, j])) for j, name in enumerate(found.methods)}


def significance(found: Comparison, *, best_k: bool = False) -> str:
    """Return the result of the rank tests as a sentence."""
    ranking = found.ranking("max", best_k=best_k)
    if ranking.friedman is None or ranking.critical_difference is None:
        return ""
    order = np.argsort(ranking.mean_ranks, kind="stable")
    first = ranking.mean_ranks[order[0]]
    level = [ranking.methods[j] for j in order[1:] if ranking.mean_ranks[j] - first < ranking.critical_difference]
    return (
        f"Friedman: p = {ranking.friedman.p_value:.1g}. Mean ranks less than {ranking.critical_difference:.2f} apart "
        f"do not differ significantly (Nemenyi, 5 %): {ranking.methods[order[0]]} leads, and "
        f"{', '.join(level) or 'none'} "
        f"{'is' if len(level) == 1 else 'are'} level with it.\n"
    )


def _figure(value: float, digits: int = 3) -> str:
    return "–" if np.isnan(value) or np.isinf(value) else f"{value:.{digits}f}"


def beside_published(parts: Iterable[tuple[Comparison | None, bool]]) -> str:
    """Return our means on the PTA pools with those of TKDE 2016, Table 9."""
    with (SHARED / "paper" / "tkde2016_table9.csv").open() as file:
        rows = [row for row in csv.DictReader(file) if row["nmi"]]
    published = {(row["pool"], row["method"], row["k"]): float(row["nmi"]) for row in rows}
    lines = []
    for found, best_k in parts:
        if found is None:
            continue
        means, k = found.means("max", best_k=best_k), "best" if best_k else "true"
        for j, method in enumerate(found.methods):
            keys = [(pool.removeprefix("pta_"), PUBLISHED.get(method, ""), k) for pool in found.pools]
            pairs = [
                (means[i, j], published[key])
                for i, key in enumerate(keys)
                if found.pools[i].startswith("pta_") and key in published and not np.isnan(means[i, j])
            ]
            if pairs:
                ours, theirs = np.array(pairs).T
                figures = map(_figure, (ours.mean(), theirs.mean(), np.abs(ours - theirs).mean()))
                lines.append([method, k, str(len(pairs)), *figures])
    return markdown_table(["method", "k", "pools", "ours", "published", "mean absolute difference"], lines)


def beside_published_means(found: Comparison) -> str:
    """Return our means over the LWEA pools with those published by the authors for the same pools (100 draws)."""
    rows = [i for i, pool in enumerate(found.pools) if pool.startswith("lwea_")]
    means = found.means("max")[rows]
    lines = [
        [method, _figure(means[:, j].mean()), _figure(theirs, 4), _figure(means[:, j].mean() - theirs)]
        for method, theirs in PUBLISHED_MEANS.items()
        for j in [found.methods.index(method)]
    ]
    return markdown_table(["method", "ours", "published", "difference"], lines)


def beside_survey(found: Comparison) -> str:
    """Return the mean ranks of a survey of 71 entries on 86 datasets (other pools, 20 members) with ours."""
    with (SHARED / "paper" / "survey2026_71_methods.csv").open() as file:
        rows = {row["experiment_label"].split(" ", 1)[1]: row for row in csv.DictReader(file)}
    ranking = found.ranking("max")
    ranks = dict(zip(ranking.methods, ranking.mean_ranks, strict=True))
    lines = []
    for method, label in SURVEYED.items():
        row = next(row for name, row in rows.items() if name.startswith(label))
        figures = [f"{float(row['mean_rank_nmi']):.1f}", row["mean_nmi"], row["median_seconds"]]
        lines.append([method, *figures, _figure(ranks.get(method, np.nan), 2)])
    header = ["method", "survey: mean rank of 71", "NMI", "seconds", f"our mean rank of {len(ranks)}"]
    return markdown_table(header, lines)


def by_pool(found: Comparison) -> str:
    """Return a line per pool: the three best methods, and GP-MGLA and the best member for comparison."""
    means = found.means("max")
    shown = [found.methods.index(name) for name in ("gp-mgla", "weac", "best-member")]
    lines = []
    for i in np.argsort(found.pools):
        order = np.argsort(-np.nan_to_num(means[i]), kind="stable")[:3]
        leaders = [f"{found.methods[j]} {_figure(means[i, j])}" for j in order]
        lines.append([found.pools[i], *leaders, *(_figure(means[i, j]) for j in shown)])
    return markdown_table(["pool", "first", "second", "third", "gp-mgla", "weac", "best-member"], lines)


def compose(folder: Path) -> str:
    """Return the page."""
    found = {size: read(folder, f"{size}") for size in (10, 20)}
    one_k = {size: median_seconds(read(folder, f"{size}, one k")) for size in found}
    ten, slow = found[10], read(folder, "slow")
    assert ten is not None
    intro = (
        f"All fast methods with their defaults on {len(ten.pools)} public pools of base clusterings (`lwea_*` and "
        "`pta_*`, published by their authors), from which ensembles are drawn. Most members of these pools are k-means "
        "clusterings. Scores are means over pools and draws, compared with the classes. Ranks are over the methods "
        "that have a result on every pool. Seconds are medians over pools in one thread, compilation excluded, on a "
        "busy machine; compare them only with each other. `python -m benchmarks.leaderboard` measures, and resumes "
        "after an interruption. [Choose a method](how-to/which-method.md) draws the conclusions."
    )
    text = f"# Leaderboard\n\n{textwrap.fill(intro, 120, break_on_hyphens=False, break_long_words=False)}\n"
    text += section("10 members, number of classes", ten, one_k[10])
    text += "\n![Mean ranks, and bars over methods that do not differ significantly](images/leaderboard.svg)\n"
    text += f"\n### Best methods by pool\n\nNMI (max), {ten.draws} draws of 10 members.\n\n{by_pool(ten)}"
    if found[20] is not None:
        text += section("20 members, number of classes", found[20], one_k[20])
    for size, larger in found.items():
        if larger is not None:
            text += section(f"{size} members, best k", larger, median_seconds(larger), best_k=True)
    ks = ", ".join(map(str, GRID))
    text += f"\nThe best of the number of classes and of {ks} clusters, judged by the classes.\n"
    if slow is not None:
        text += section("Slower methods, 10 members, number of classes", slow, median_seconds(slow))
    text += (
        "\n## Compared with published figures\n\nTKDE 28(5) 2016, Table 9: the `pta_*` pools, 10 members, 100 draws, "
        f"NMI (max).\n\n{beside_published([(ten, False), (slow, False), (ten, True)])}"
        "\nMeans over the 15 `lwea_*` pools that the authors of LWEA and LWGP published (10 members, 100 draws, NMI "
        f"(max)). Theirs of MCLA and CSPA use METIS, of KCC and SEC random starts.\n\n{beside_published_means(ten)}"
        "\nA survey of 2026 (71 entries on 86 datasets of its own, 20 members, settings of LWEA and LWGP tuned by the "
        f"classes):\n\n{beside_survey(ten)}"
    )
    return text + unfinished([*found.values(), slow])


def section(title: str, found: Comparison, seconds: Mapping[str, float], *, best_k: bool = False) -> str:
    """Return a table of standings under its title."""
    draws = f"{found.draws} {'draw' if found.draws == 1 else 'draws'} from each of {len(found.pools)} pools."
    tested = significance(found, best_k=best_k)
    return f"\n## {title}\n\n{draws}\n\n{standings(found, seconds, best_k=best_k)}\n{tested}"


def unfinished(parts: Iterable[Comparison | None]) -> str:
    """Return what failed or ran out of time."""
    failed = sorted(
        {
            (key.split("/", 3)[3], key.split("/")[0], key.split("/")[1].removeprefix("M="), status)
            for found in parts
            if found is not None
            for key, status in found.failures.items()
        }
    )
    table = markdown_table(["method", "pool", "members", "message"], failed) if failed else "Everything else did.\n"
    left_out = (
        f"{', '.join(LEFT_OUT)} takes half a minute and more on the smallest pools, and was not run. "
        f"{', '.join(SLOW)} run after all others, and are in the tables once they have a number on every pool."
    )
    return f"\n## What did not finish\n\n{left_out}\n\n{table}"


def draw(folder: Path, page: Path) -> None:
    """Draw the diagram of ranks into the folder of the page."""
    found = read(folder, "10")
    assert found is not None
    figure = draw_ranks(found.ranking("max"), f"10 members, number of classes, {found.draws} draws")
    if figure is not None:
        figure.savefig(page.parent / "images" / "leaderboard.svg", metadata={"Date": None})


def main() -> None:
    """Measure, or write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", nargs="?", type=Path, default=RESULTS)
    parser.add_argument("--only", choices=list(PARTS))
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--page", type=Path)
    options = parser.parse_args()
    if options.page is None:
        for name in [options.only] if options.only else PARTS:
            run(options.folder, name, options.jobs)
    else:
        options.page.write_text(compose(options.folder), encoding="utf-8")
        draw(options.folder, options.page)


if __name__ == "__main__":
    main()
