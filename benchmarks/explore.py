"""The explorer against its running server: from click to drawn answer in a browser, and many clients at once.

`python -m benchmarks explore` (or `make bench-explore`); needs Chromium and Playwright for the first part, and about
five minutes. Bars: median 300 ms, 95th percentile 1 s, first page 2 s; under load no answer is lost or mixed up.
"""

from __future__ import annotations

import itertools
import random
import shutil
import statistics
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import httpx
import numpy as np

import quorate as qt
from benchmarks.data import letters
from benchmarks.measure import Result, run_parts
from quorate.explore.run import Explorer
from quorate.explore.workbench import Workbench

CLICKS = 15
CLIENTS, LOAD_SECONDS = 50, 60


def million() -> qt.Ensemble:
    """Return 1,000,000 rows x 20 members of some ten clusters each: about 50,000 patterns."""
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 10, 1_000_000)
    members = []
    for _ in range(20):
        k = int(rng.integers(6, 14))
        wrong = rng.random(len(truth)) < 0.02
        members.append(np.where(wrong, rng.integers(0, k, len(truth)), truth % k))
    return qt.Ensemble(members)


def run() -> list[Result]:
    """Measure clicks on both ensembles, then many clients at once."""
    return run_parts(
        load,
        lambda: clicks("1,000,000 x 20", million()),
        lambda: clicks("LR x 50", qt.Ensemble(letters(50))),
    )


def clicks(name: str, ens: qt.Ensemble) -> Iterator[Result]:
    """Measure, in a browser, the time from a click to the drawn answer."""
    from playwright.sync_api import sync_playwright

    print(f"{name}: {ens}")
    bench = Workbench(ens, name=name)
    path = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))))
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=path, args=["--no-sandbox", "--disable-gpu"])
        with Explorer(bench).start() as running:
            page = browser.new_page(viewport={"width": 1280, "height": 900})
            page.set_default_timeout(600_000)
            start = time.perf_counter()
            page.goto(running.url + "#tab=%22answer%22&k=8")
            page.wait_for_selector("html[data-answered]")
            yield bar(f"{name}: first page", time.perf_counter() - start, 2.0)
            page.wait_for_selector("html[data-drawn]")
            yield from timed(page, f"{name}: gp-mgla, k moved", [f"k={k}" for k in ks()])
            yield from timed(page, f"{name}: gp-mgla, one member off", [f"k=8&off=%5B{j}%5D" for j in range(CLICKS)])
            betas = [f"k=8&params=%7B%22beta%22%3A{1 + 0.15 * i:.2f}%7D" for i in range(CLICKS)]
            yield from timed(page, f"{name}: gp-mgla, beta changed", betas)
            yield from timed(page, f"{name}: weac solved, once", ["method=%22weac%22&k=8"], bars=False)
            yield from timed(page, f"{name}: weac, k moved", [f"method=%22weac%22&k={k}" for k in ks()])
        browser.close()


def ks() -> list[int]:
    """Return numbers of clusters none of which was just shown."""
    return [k for k in range(2, 2 + CLICKS + 1) if k != 8][:CLICKS]


def timed(page: object, what: str, addresses: list[str], *, bars: bool = True) -> Iterator[Result]:
    """Change the state and wait until the answer is drawn; timed in the page itself."""
    script = """async (hash) => {
      const root = document.documentElement, before = Number(root.dataset.answered || 0), start = performance.now();
      const wait = new Promise((done) => new MutationObserver((_, watcher) => {
        if (Number(root.dataset.answered) <= before) return;
        watcher.disconnect();
        requestAnimationFrame(() => done(performance.now() - start));
      }).observe(root, { attributes: true }));
      location.hash = hash;
      return wait;
    }"""
    found = []
    for address in addresses:
        found.append(page.evaluate(script, "tab=%22answer%22&" + address) / 1000)  # type: ignore[attr-defined]
        page.wait_for_timeout(150)  # type: ignore[attr-defined]
    if not bars:
        yield Result(what, found[0], 1.0, "s", found[0], "told", True)
        return
    yield bar(f"{what}: median", statistics.median(found), 0.3)
    yield bar(f"{what}: 95th percentile", float(np.quantile(found, 0.95)), 1.0)


def bar(what: str, seconds: float, most: float) -> Result:
    """Return a time beside the most it should be."""
    return Result(what, seconds, most, "s", seconds / most, "<= 1", seconds <= most)


def load() -> Iterator[Result]:
    """Let fifty clients ask for a minute; every answer has to come, and to be the one asked for."""
    ens = qt.Ensemble(letters(20)[:3000])
    asks = [
        {"method": method, "k": k, "members": [j for j in range(20) if j != off]}
        for method, k, off in itertools.product(("gp-mgla", "hbgf"), (3, 5, 8), (0, 7, 20))
    ]
    own = [qt.consensus(ens.select(ask["members"]), ask["k"], ask["method"]) for ask in asks]  # type: ignore[arg-type]
    expected = [[cluster.size for cluster in result.clusters] for result in own]
    counts = {"asked": 0, "lost": 0, "mixed": 0}
    with Explorer(Workbench(ens)).start() as running:
        stop = time.monotonic() + LOAD_SECONDS

        def client(number: int) -> None:
            rng = random.Random(number)
            with httpx.Client(timeout=300) as web:
                while time.monotonic() < stop:
                    i = rng.randrange(len(asks))
                    question = {"tab": f"client {number}", "question": {"ask": asks[i]}}
                    counts["asked"] += 1
                    found = web.post(f"{running.url}api/answer", json=question)
                    if found.status_code != 200:
                        counts["lost"] += 1
                    elif [c["size"] for c in found.json()["clusters"]] != expected[i]:
                        counts["mixed"] += 1

        with ThreadPoolExecutor(CLIENTS) as pool:
            list(pool.map(client, range(CLIENTS)))
    yield Result(
        f"{CLIENTS} clients for {LOAD_SECONDS} s: answers", counts["asked"], 1, "", counts["asked"], "> 0", True
    )
    for kind in ("lost", "mixed"):
        yield Result(f"{CLIENTS} clients: answers {kind}", counts[kind], 1, "", counts[kind], "0", counts[kind] == 0)
