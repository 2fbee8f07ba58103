"""Bundle the report's JavaScript modules into one file: `python tools/bundle_report.py`.

A report is a single HTML file, so that its script cannot import modules. Modules are joined in the order of their
imports, without their import and export statements; their top-level names must therefore differ.
"""

import re
from pathlib import Path

FOLDER = Path(__file__).resolve().parents[1] / "src" / "quorate" / "reporting" / "web"
ENTRY, BUNDLE = "report.js", "report.bundle.js"
_IMPORT = re.compile(r'^import [^;]*? from "\./([\w.]+)";\n', re.MULTILINE)
_NAME = re.compile(r"^(?:export )?(?:async )?(?:function|const|let|class) ([\w$]+)", re.MULTILINE)


def bundle() -> str:
    """Return the entry script and all modules it imports as one script; each module precedes its importers."""
    modules: dict[str, str] = {}

    def add(name: str) -> None:
        if name in modules:
            return
        text = (FOLDER / name).read_text(encoding="utf-8")
        for imported in _IMPORT.findall(text):
            add(imported)
        modules[name] = _IMPORT.sub("", text)

    add(ENTRY)
    names = [name for text in modules.values() for name in _NAME.findall(text)]
    repeated = sorted({name for name in names if names.count(name) > 1})
    if repeated:
        raise SystemExit(f"Several modules define {', '.join(repeated)}. Rename all but one.")
    body = "\n".join(re.sub(r"^export ", "", text, flags=re.MULTILINE) for text in modules.values())
    return f"// Built by tools/bundle_report.py from {ENTRY} and its modules. Do not edit.\n{body}"


if __name__ == "__main__":
    (FOLDER / BUNDLE).write_text(bundle(), encoding="utf-8")
