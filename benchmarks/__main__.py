"""Run benchmarks and print their results: `python -m benchmarks [NAME ...]`, by default those of `make bench`.

Every comparison prints a line when it is finished, and the JSON file in `benchmarks/results` is updated with it.
"""

import importlib
import sys
import time

from benchmarks.measure import Result, save, show

MODULES = ["core", "baselines", "field", "members", "command"]


def main(names: list[str]) -> None:
    """Run the named modules, by default those that take less than 15 minutes together."""
    start = time.perf_counter()
    for name in names or MODULES:
        print(f"{name}:", flush=True)
        results: list[Result] = []
        for result in importlib.import_module(f"benchmarks.{name}").run():
            results.append(result)
            path = save(name, results)
            passed = "holds" if result.holds else "FAILS"
            elapsed = time.perf_counter() - start
            print(f"  {elapsed:5.0f} s  {result.what}: {result.quotient:.3g} ({result.bar}) {passed}", flush=True)
        show(results)
        print(f"{path}, {time.perf_counter() - start:.0f} s")


if __name__ == "__main__":
    main(sys.argv[1:])
