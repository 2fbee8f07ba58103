"""Run all benchmarks, or those named on the command line, print the tables and write them as JSON."""

import importlib
import sys

from benchmarks.measure import save, show

MODULES = ["core", "baselines", "field", "members", "command"]


def main(names: list[str]) -> None:
    """Run the named modules, by default all."""
    for name in names or MODULES:
        results = importlib.import_module(f"benchmarks.{name}").run()
        show(results)
        print(save(name, results))


if __name__ == "__main__":
    main(sys.argv[1:])
