"""Print figures of the code base: lines by kind, repeated module names, private uses, caches, tests that match prose.

    python -m tools.code_statistics

Lines and comments are those of `src`; comments are counted by token, without `type:` and `noqa`.
"""

import ast
import re
import tokenize
from collections import Counter
from pathlib import Path

from tools.imports import private_uses

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src" / "quorate"
CACHES = {
    "cached_property": r"@cached_property\b",
    "RecentCache": r"\bRecentCache\(",
    "functools.cache": r"@(functools\.)?(lru_)?cache\b",
    "weak dictionaries": r"\bWeak(Key|Value)Dictionary\(",
    "lists or dictionaries in records": r"_\w+: (list|dict)\[.*\] = field\(default_factory=",
    "tests for a stored key": r"if \S+ not in self\._[a-z]\w*:",
}
"""Ways to keep a result, by an expression that finds them; only the first two are to be used (CONTRIBUTING)."""


def count_comments(path: Path) -> int:
    """Return the number of lines with a comment that is not for a tool."""
    with path.open("rb") as file:
        tokens = [token.string for token in tokenize.tokenize(file.readline) if token.type == tokenize.COMMENT]
    return sum(not token.startswith(("# type:", "# noqa")) for token in tokens)


def count_kinds(path: Path) -> Counter[str]:
    """Return the number of lines of docstrings, imports, comments, blank lines and code."""
    text = path.read_text()
    kinds = [
        "comments" if line.lstrip().startswith("#") else "code" if line.strip() else "blank"
        for line in text.splitlines()
    ]
    for node in ast.walk(ast.parse(text)):
        is_text = (
            isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
        )
        if is_text or isinstance(node, ast.Import | ast.ImportFrom):
            n_lines = node.end_lineno - node.lineno + 1
            kinds[node.lineno - 1 : node.end_lineno] = ["docstrings" if is_text else "imports"] * n_lines
    return Counter(kinds)


def count_caches() -> dict[str, int]:
    """Return how often each way to keep a result occurs."""
    text = "\n".join(path.read_text() for path in sorted(SOURCE.rglob("*.py")))
    return {name: len(re.findall(pattern, text)) for name, pattern in CACHES.items()}


def main() -> None:
    """Print the figures."""
    files = sorted(SOURCE.rglob("*.py"))
    lines: Counter[str] = Counter()
    for path in files:
        lines[path.relative_to(SOURCE).parts[0]] += len(path.read_text().splitlines())
    comments, total = sum(map(count_comments, files)), lines.total()
    names = Counter(path.stem for path in files if not path.stem.startswith("__"))
    tests = "\n".join(path.read_text() for path in (ROOT / "tests").rglob("*.py"))
    print(f"lines in src: {total:,}; comments: {comments:,} ({comments / total:.2%})")
    print(
        "by kind:", ", ".join(f"{kind} {n:,}" for kind, n in sum(map(count_kinds, files), Counter[str]()).most_common())
    )
    print("by package:", ", ".join(f"{name} {n:,}" for name, n in lines.most_common()))
    print("modules of the same name:", [name for name, n in names.items() if n > 1])
    print("private uses:", private_uses())
    print("caches:", ", ".join(f"{name} {n}" for name, n in count_caches().items()))
    print("match= in tests:", len(re.findall(r"\bmatch=", tests)))


if __name__ == "__main__":
    main()
