"""Average link on rows that rarely repeat: 200,000 rows x 20 members (199,244 patterns), compared with another version.

    python -m benchmarks.distinct SRC [--uniform] [--rows N] [--methods NAME ...]

SRC is the folder `src` of the other version, such as one made by `git worktree add FOLDER COMMIT`. Both versions run
on the same labels in separate processes, after compiling their kernels. Labels are members of a mixture, or drawn
uniformly from 480 clusters each.
"""

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

from benchmarks.data import mixture

METHODS = ("weac", "lwea")
OURS = Path(__file__).resolve().parents[1] / "src"
TASK = """
import sys, time
import numpy as np
import quorate as qt
method, folder = sys.argv[1:]
labels = np.load(f"{folder}/labels.npy")
qt.consensus(labels[:5000], n_clusters=30, method=method)
start, of_processor = time.perf_counter(), time.process_time()
fitted = {each.name: each.estimator for each in qt.methods()}[method](n_clusters=30).fit(labels)
print(time.perf_counter() - start, time.process_time() - of_processor)
np.savez(f"{folder}/found.npz", labels=fitted.labels_, heights=fitted.dendrogram_.heights)
"""


def run(source: Path, method: str, folder: str) -> tuple[list[float], dict[str, np.ndarray]]:
    """Return how long a version of the library takes, by the clock and of the processor, and what it finds."""
    environment = {**os.environ, "PYTHONPATH": str(source)}
    command = [sys.executable, "-W", "ignore", "-c", TASK, method, folder]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    with np.load(f"{folder}/found.npz") as found:
        return [float(seconds) for seconds in done.stdout.split()], dict(found)


def main() -> None:
    """Print seconds, their ratio, and whether the answers are the same."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("src", type=Path)
    parser.add_argument("--uniform", action="store_true")
    parser.add_argument("--rows", type=int, default=200_000)
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=METHODS)
    chosen = parser.parse_args()
    uniform = np.random.default_rng(0).integers(0, 480, (chosen.rows, 20)) if chosen.uniform else None
    with tempfile.TemporaryDirectory() as folder:
        np.save(f"{folder}/labels.npy", mixture(chosen.rows, 20, high=958) if uniform is None else uniform)
        for method in chosen.methods:
            (quick, ours), (slow, theirs) = run(OURS, method, folder), run(chosen.src, method, folder)
            same = np.array_equal(ours["labels"], theirs["labels"])
            apart = np.abs(ours["heights"] - theirs["heights"]).max()
            for what, one, other in zip(("clock", "processor"), quick, slow, strict=True):
                print(f"{method}, {what}: {one:.1f} s, other {other:.1f} s, ratio {other / one:.1f};", end=" ")
            print(f"labels {'the same' if same else 'DIFFER'}, heights within {apart:.1g}", flush=True)


if __name__ == "__main__":
    main()
