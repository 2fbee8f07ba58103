"""Average link where rows hardly repeat: 200,000 rows x 20 members (199,244 patterns), beside another version.

    python -m benchmarks.distinct SRC

SRC is the folder `src` of the other version, such as one that `git worktree add FOLDER COMMIT` has checked out. Both
run the same labels in processes of their own, each method once on some rows first, for its kernels to be compiled.
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
start = time.perf_counter()
fitted = {each.name: each.estimator for each in qt.methods()}[method](n_clusters=30).fit(labels)
print(time.perf_counter() - start)
np.savez(f"{folder}/found.npz", labels=fitted.labels_, heights=fitted.dendrogram_.heights)
"""


def run(source: Path, method: str, folder: str) -> tuple[float, dict[str, np.ndarray]]:
    """Return how long a version of the library takes, and the labels and merge heights it finds."""
    environment = {**os.environ, "PYTHONPATH": str(source)}
    command = [sys.executable, "-W", "ignore", "-c", TASK, method, folder]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    with np.load(f"{folder}/found.npz") as found:
        return float(done.stdout), dict(found)


def main() -> None:
    """Print seconds, their ratio, and whether the answers are the same."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("src", type=Path)
    other = parser.parse_args().src
    with tempfile.TemporaryDirectory() as folder:
        np.save(f"{folder}/labels.npy", mixture(200_000, 20, high=958))
        for method in METHODS:
            (quick, ours), (slow, theirs) = run(OURS, method, folder), run(other, method, folder)
            same = np.array_equal(ours["labels"], theirs["labels"])
            apart = np.abs(ours["heights"] - theirs["heights"]).max()
            print(f"{method}: {quick:.1f} s, other {slow:.1f} s, ratio {slow / quick:.1f};", end=" ")
            print(f"labels {'the same' if same else 'DIFFER'}, heights within {apart:.1g}", flush=True)


if __name__ == "__main__":
    main()
