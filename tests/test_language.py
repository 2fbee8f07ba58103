"""Plain technical English: terms that were replaced do not come back into messages, help, docstrings and pages.

`python tests/test_language.py FILES` lists them in any files.
"""

import ast
import io
import re
import sys
import tokenize
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src" / "quorate"

# Each expression with what to write instead.
REPLACED = {
    r"(is|are|was|were|be|been) told\b|told (by|whether|what|which|so)\b": "warned, reported, shown",
    r"(tell|tells|told) (\w+ ){0,4}apart": "distinguish",
    r"(nobody|whoever|who asks|who wants)\b": "the caller, the user; or the passive voice",
    r"says? a word\b|said (so|of|beside)\b|without a word|with a word": "warns, reports, shows",
    r"(is|are|was|were) left out\b": "is ignored, is removed",
    r"ill (clustering|member|one)s?\b|spoilt|made[- ]up": "corrupted, random, low-quality",
    r"crowds?\b(?! agreement)": "the other members, the ensemble",
    r"whom to (trust|doubt)|members? (that |which )?(is|are) trusted\b|trustworth": "reliable",
    r"agreement (\w+ ){0,3}beyond chance": "chance-corrected agreement",
    r"(speak|speaks|spoke) for\b": "supports",
    r"(nothing|boundary|cluster) parts\b|parts (no|two|them|rows)\b": "separates",
    r"parted (by|from)\b|to part (them|rows|two)\b": "separated, to separate",
    r"mends?\b|mended\b": "fix",
    r"by lot\b": "at random",
    r"ask(s|ed)? for\b": "request",
    r"so many (members|rows|clusters|clusterings)\b|as many as (wanted|asked)": "n, the requested number",
    r"what is known (of|about)": "metadata, attributes",
    r"(is|are|was) (not )?(to be )?had\b": "is available",
    r"at once\b": "immediately; in one pass; simultaneously",
    r"anew\b": "again; recomputed",
    r"beside\b": "compared with; next to",
    r"hardly\b": "barely, rarely, almost never",
    r"for want of": "because there is no",
    r"fall by \S+ behind|behind k\b": "after; eigengap",
    r"halves of the members repeat": "tree stability",
    r"(?<!there )(is|are) no (member|clustering|label|feature|name|number|row)s?\b": "is not a ...",
    r"(is|are) taken for\b": "is used as, looks like",
    r"stands? apart\b": "outlier",
    r"rules of the house|the house\b": "the project",
    r"one's own|of (one|ones) own\b": "your own, custom",
    r"way out\b": "fallback",
}
PATTERNS = {re.compile(rf"\b(?:{expression})", re.IGNORECASE): instead for expression, instead in REPLACED.items()}

# Words that are right in one file: the term of a paper, or a quotation.
ALLOWED = {
    "src/quorate/paper": ["ill clustering", "ill clusterings"],  # the term of the paper
    "docs/reproduction.md": ["ill clustering", "ill clusterings"],
}

# Names of variables, parameters and functions that say nothing about their content.
VAGUE_NAMES = {"found", "some", "one", "told", "kept", "known", "place", "places", "said", "wanted", "lacking", "seen"}
ALLOWED_NAMES = {
    "analysis/compare.py": {"kept"},  # clusters that two partitions have in common: part of the public record
    "features/out_of_sample.py": {"known"},  # rows of the training sample
}

PAGES = ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "docs/*.md", "docs/how-to/*.md")


def texts(path):
    """Yield (line number, text) of the strings and comments of a Python file, or of the lines of another file."""
    content = path.read_text(encoding="utf-8")
    if path.suffix != ".py":
        yield from enumerate(content.splitlines(), start=1)
        return
    prose = {tokenize.STRING, tokenize.COMMENT, getattr(tokenize, "FSTRING_MIDDLE", tokenize.STRING)}
    for token in tokenize.generate_tokens(io.StringIO(content).readline):
        if token.type in prose:
            for offset, line in enumerate(token.string.splitlines()):
                yield token.start[0] + offset, line


def names_of_tests(path):
    """Return the names of the tests in a file as text, with blanks."""
    return [name.replace("_", " ") for name in re.findall(r"^def (test_\w+)", path.read_text(), flags=re.MULTILINE)]


def violations(path):
    """Return the replaced terms in a file, with their lines and with what to write instead."""
    name = path.relative_to(ROOT).as_posix()
    allowed = {word for place, words in ALLOWED.items() if name.startswith(place) for word in words}
    return [
        f"{name}:{line}: {match[0]!r}; write: {instead}"
        for line, text in texts(path)
        for pattern, instead in PATTERNS.items()
        for match in pattern.finditer(text)
        if match[0].lower() not in allowed
    ]


def test_texts_of_the_package_use_current_terms():
    files = sorted(SOURCE.rglob("*.py"))
    assert len(files) > 80
    assert [line for path in files for line in violations(path)] == []


def test_names_of_variables_are_terms_of_the_domain():
    files = {path.relative_to(SOURCE).as_posix(): ast.parse(path.read_text()) for path in SOURCE.rglob("*.py")}
    defined = {
        (file, getattr(node, "id", "") or getattr(node, "arg", "") or getattr(node, "name", ""))
        for file, tree in files.items()
        for node in ast.walk(tree)
        if isinstance(node, ast.arg | ast.FunctionDef) or isinstance(getattr(node, "ctx", None), ast.Store)
    }
    assert len(defined) > 5000
    vague = [(file, name) for file, name in defined if name.lower().strip("_") in VAGUE_NAMES]
    assert [pair for pair in sorted(vague) if pair[1] not in ALLOWED_NAMES.get(pair[0], ())] == []


def test_pages_use_current_terms():
    assert [line for page in PAGES for path in sorted(ROOT.glob(page)) for line in violations(path)] == []


def test_names_of_tests_use_current_terms():
    names = [name for path in sorted(Path(__file__).parent.rglob("test_*.py")) for name in names_of_tests(path)]
    assert len(names) > 1000
    assert [name for name in names for pattern in PATTERNS if pattern.search(name)] == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Column 'id' is no member.", 1),
        ("There is no member named 'a'.", 0),
        ("what the crowd says; the crowd agreement index", 1),
        ("Nothing speaks for clusters, and nobody was told.", 3),
        ("besides the members", 0),
    ],
)
def test_the_check_finds_replaced_terms(text, expected):
    assert sum(len(pattern.findall(text)) for pattern in PATTERNS) == expected


if __name__ == "__main__":
    print(*(line for path in sys.argv[1:] for line in violations(Path(path).resolve())), sep="\n")
