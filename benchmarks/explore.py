"""Response times of the explorer: from click to drawn result in a browser, and with many simultaneous clients.

`python -m benchmarks explore` (or `make bench-explore`); needs Chromium and Playwright, and about ten minutes. Bars:
median 300 ms, 95th percentile 1 s, first page 2 s; under load no answer is lost or mixed up. Times are those of an idle
machine with two cores; processor times, which are also reported, can be compared on a busy machine too.
"""

from __future__ import annotations

import itertools
import os
import random
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import quorate as qt
from benchmarks.data import letters
from benchmarks.measure import Result, run_parts
from quorate.ensemble import member_codes
from quorate.explorer.launch import Explorer
from quorate.explorer.workbench import Workbench

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


def distinct() -> qt.Ensemble:
    """Return 3,000 rows x 30 members of 5 to 34 clusters, in which every row is a pattern."""
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 6, 3000)
    return qt.Ensemble([np.where(rng.random(3000) < 0.3, rng.integers(0, 5 + j, 3000), truth) for j in range(30)])


def run() -> Iterator[Result]:
    """Measure the first page and clicks on three ensembles, then many simultaneous clients."""
    return run_parts(
        lambda: member_switches("3,000 x 30 distinct rows", distinct()),
        lambda: first_page("1,000,000 x 20", million()),
        lambda: first_page("LR x 50", qt.Ensemble(letters(50))),
        lambda: clicks("1,000,000 x 20", million()),
        lambda: clicks("LR x 50", qt.Ensemble(letters(50))),
        load,
    )


@contextmanager
def browser_page() -> Iterator[Any]:
    """Give a page of a browser without a screen."""
    from playwright.sync_api import sync_playwright

    path = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))))
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=path, args=["--no-sandbox", "--disable-gpu"])
        page = browser.new_page(viewport={"width": 1280, "height": 900})
        page.set_default_timeout(400_000)
        yield page
        browser.close()


def first_page(name: str, ens: qt.Ensemble) -> Iterator[Result]:
    """Measure the command in a process of its own: from its address, printed once the table is open, to the answer."""
    with tempfile.TemporaryDirectory() as folder, browser_page() as page:
        path = Path(folder) / "labels.parquet"
        columns = {f"member {j}": member_codes(ens, j)[ens.row_pattern] for j in range(ens.n_members)}
        pq.write_table(pa.table(columns), path)
        page.goto("about:blank")
        command = [sys.executable, "-m", "quorate", "explore", str(path), "--no-browser", "--quiet"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
            assert server.stdout is not None
            url = server.stdout.readline().strip()
            before, start = cpu_of(server.pid), time.perf_counter()
            page.goto(url)
            page.wait_for_selector("html[data-answered]")
            yield from bars(f"{name}: first page", [time.perf_counter() - start], [cpu_of(server.pid) - before], most=2)
            server.send_signal(signal.SIGINT)


def cpu_of(process: int) -> float:
    """Return the seconds of processor time that a process has used, all its threads together."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def clicks(name: str, ens: qt.Ensemble, *, tree: bool = True) -> Iterator[Result]:
    """Measure, in a browser, the time from a click to the drawn answer."""
    print(f"{name}: {ens}; load of the machine: {os.getloadavg()[0]:.1f}")
    with Explorer(Workbench(ens, name=name)).start() as running, browser_page() as page:
        page.goto(running.url + "#k=8&method=%22gp-mgla%22")
        page.wait_for_selector("html[data-drawn]")
        members = [f"[data-member='{j}']" for j in range(CLICKS)]
        yield from timed(page, f"{name}: gp-mgla, one member off", [(box, None) for box in members], undo=True)
        page.click("[data-tab=answer]")
        settled(page)
        yield from timed(page, f"{name}: gp-mgla, k moved", [("#k", str(k)) for k in ks()])
        betas = [("#param-beta", f"{1 + 0.15 * i:.2f}") for i in range(CLICKS)]
        yield from timed(page, f"{name}: gp-mgla, beta changed", betas)
        if tree:
            yield from timed(page, f"{name}: weac solved, once", [("#method", "weac")], most=None)
            yield from timed(page, f"{name}: weac, k moved", [("#k", str(k)) for k in ks()])


def member_switches(name: str, ens: qt.Ensemble) -> Iterator[Result]:
    """Measure, in a browser, the time from disabling a member to the first result of the default method."""
    with Explorer(Workbench(ens, name=name)).start() as running, browser_page() as page:
        page.goto(running.url)
        page.wait_for_selector("html[data-drawn]")
        members = [(f"[data-member='{j}']", None) for j in range(CLICKS)]
        yield from timed(page, f"{name}: default, one member off", members, undo=True, most=1.0)


def ks() -> list[int]:
    """Return numbers of clusters none of which was just shown."""
    return [k for k in range(2, 2 + CLICKS + 1) if k != 8][:CLICKS]


def timed(
    page: Any, what: str, changes: list[tuple[str, str | None]], *, undo: bool = False, most: float | None = 0.3
) -> Iterator[Result]:
    """Change controls of the page, one after the other, and wait until the answer is drawn; timed in the page itself.

    The processor time of the server is also measured, which does not depend on other work of the machine. `undo`
    clicks each control a second time, which is not counted.
    """
    found, cpu = [], []
    for control, value in changes:
        before = time.process_time()
        found.append(page.evaluate(_CHANGE, [control, value]) / 1000)
        cpu.append(time.process_time() - before)
        settled(page)
        if undo:
            page.evaluate(_CHANGE, [control, value])
            settled(page)
    yield from bars(what, found, cpu, most=most)


def settled(page: Any) -> None:
    """Wait until the page has no open request."""
    while page.evaluate("document.body.classList.contains('waiting')"):
        page.wait_for_timeout(20)


_CHANGE = """async ([control, value]) => {
  const root = document.documentElement, before = Number(root.dataset.answered || 0), start = performance.now();
  const drawn = new Promise((done) => new MutationObserver((_, watcher) => {
    if (Number(root.dataset.answered) <= before) return;
    watcher.disconnect();
    requestAnimationFrame(() => done(performance.now() - start));
  }).observe(root, { attributes: true }));
  const node = document.querySelector(control);
  if (value === null) node.click();
  else { node.value = value; node.dispatchEvent(new Event(node.type === "range" ? "input" : "change")); }
  return drawn;
}"""


def bars(what: str, found: list[float], cpu: list[float], *, most: float | None) -> Iterator[Result]:
    """Yield the median and 95th percentile of times with their bounds, and the server's processor time."""
    used = statistics.median(cpu)
    if most is None or len(found) == 1:
        yield bar(what, found[0], most or found[0])
    else:
        yield bar(f"{what}: median", statistics.median(found), most)
        yield bar(f"{what}: 95th percentile", float(np.quantile(found, 0.95)), 1.0)
    yield Result(f"{what}: processor time of the server", used, 1.0, "s", used, "told", True)


def bar(what: str, seconds: float, most: float) -> Result:
    """Return a time with its upper bound."""
    return Result(what, seconds, most, "s", seconds / most, "<= 1", seconds <= most)


def load() -> Iterator[Result]:
    """Run fifty clients for a minute; every request must get its own answer."""
    ens = qt.Ensemble(letters(20)[:3000])
    queries = [
        {"method": method, "k": k, "members": [j for j in range(20) if j != off]}
        for method, k, off in itertools.product(("gp-mgla", "hbgf"), (3, 5, 8), (0, 7, 20))
    ]
    own = [qt.consensus(ens.select(query["members"]), query["k"], query["method"]) for query in queries]
    expected = [[cluster.size for cluster in result.clusters] for result in own]
    counts = {"sent": 0, "lost": 0, "mixed": 0}
    with Explorer(Workbench(ens)).start() as running:
        stop = time.monotonic() + LOAD_SECONDS

        def client(number: int) -> None:
            rng = random.Random(number)
            with httpx.Client(timeout=300) as web:
                while time.monotonic() < stop:
                    i = rng.randrange(len(queries))
                    request = {"tab": f"client {number}", "request": {"query": queries[i]}}
                    counts["sent"] += 1
                    response = web.post(f"{running.url}api/answer", json=request)
                    if response.status_code != 200:
                        counts["lost"] += 1
                    elif [c["size"] for c in response.json()["clusters"]] != expected[i]:
                        counts["mixed"] += 1

        with ThreadPoolExecutor(CLIENTS) as pool:
            list(pool.map(client, range(CLIENTS)))
    yield Result(f"{CLIENTS} clients for {LOAD_SECONDS} s: answers", counts["sent"], 1, "", counts["sent"], "> 0", True)
    for kind in ("lost", "mixed"):
        yield Result(f"{CLIENTS} clients: answers {kind}", counts[kind], 1, "", counts[kind], "0", counts[kind] == 0)
