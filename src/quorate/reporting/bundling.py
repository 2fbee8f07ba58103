"""Join the JavaScript modules of a page into one script."""

import re
from collections.abc import Callable

_IMPORT = re.compile(r'^import (?:[^;]*? from )?"\./([\w.]+)";\n', re.MULTILINE)
_EXPORT = re.compile(r"^export ", re.MULTILINE)


def bundle(entry: str, read: Callable[[str], str]) -> str:
    """Return a script and all modules it imports as one script, for pages that no server can send modules to.

    Each module precedes its importers; import and export statements are dropped, so that the names at the top level of
    the modules must differ.

    Parameters
    ----------
    entry : str
        The name of the script.
    read : callable
        Returns the text of the module with a given name.
    """
    modules: dict[str, str] = {}

    def add(name: str) -> None:
        if name in modules:
            return
        text = read(name)
        # Imports first: a module precedes those that use it.
        for imported in _IMPORT.findall(text):
            add(imported)
        modules[name] = _EXPORT.sub("", _IMPORT.sub("", text))

    add(entry)
    return "\n".join(modules.values())
