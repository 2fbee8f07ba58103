"""`quorate methods`."""

from __future__ import annotations

from typing import Any

from quorate.algorithms.registry import AUTO, methods
from quorate.cli.output import console, print_json, table
from quorate.features.generators import GENERATORS


def run_methods(*, json: bool) -> None:
    """Print the consensus methods and the generators of members."""
    infos = methods()
    generators = {name: summary_line(function) for name, function in GENERATORS.items()}
    if json:
        combining: list[dict[str, Any]] = [
            {
                "name": m.name,
                "weighted": m.weighted,
                "parameters": m.parameters,
                "idea": m.idea,
                "equation": m.equation,
                "strength": m.strength,
                "weakness": m.weakness,
                "when": m.when,
                "cost": m.cost,
                "exact": m.exact,
                "exceptions": m.exceptions,
                "citation": m.citation,
            }
            for m in infos
        ]
        print_json({"combine": combining, "generate": generators})
        return
    out = console()
    out.print(f"Default: {AUTO}", markup=False, highlight=False)
    out.print()
    rows = [(m.name, m.idea, "yes" if m.weighted else "no", _settings(m.parameters), m.citation) for m in infos]
    out.print(
        table("Consensus methods", ("method", "idea", "weights members", "parameters (--set)", "reference"), rows)
    )
    out.print()
    out.print(table("Generators of members", ("generator", "description"), list(generators.items())))


def _settings(parameters: dict[str, Any]) -> str:
    return ", ".join(f"{name}={value}" for name, value in parameters.items())


def summary_line(thing: Any) -> str:
    """Return the first line of a docstring."""
    return (thing.__doc__ or "").strip().partition("\n")[0]
