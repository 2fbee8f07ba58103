"""The vocabulary of the command in messages: a parameter of the library is shown as the flag that sets it.

The functions in `app.py` name their arguments as the library names its parameters, so the flags are read off them.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence
from typing import Any

from quorate._utils.optional_imports import require_extra
from quorate.errors import Setting


def command_tree() -> Any:
    """Return the command with its subcommands."""
    require_extra("typer", "The quorate command")
    from typer import Context
    from typer.main import get_command

    from quorate.cli.app import app

    tree: Any = get_command(app)
    # typer shows the type of every option; a flag takes no value.
    context = Context(tree, **tree.context_settings)
    for command in (tree, *tree.commands.values()):
        for param in command.get_params(Context(command, context)):
            if getattr(param, "is_flag", False):
                param.metavar = ""
    return tree


def flag_writer(arguments: Sequence[str]) -> Callable[[Setting], str]:
    """Return a function that writes a `Setting` as a flag of the command called with these arguments."""
    options = _options(arguments)

    def show(setting: Setting) -> str:
        option = options.get(setting.parameter)
        if option is not None:
            return _as_flag(option, setting.value)
        if "set_" in options:  # every other parameter belongs to the consensus method
            return f"--set {setting.parameter}" + ("" if setting.value is None else f"={setting.value}")
        return str(setting)

    return show


def _options(arguments: Sequence[str]) -> dict[str, Any]:
    """Return the options of the command that was called, by the names of their parameters."""
    command = command_tree()
    for word in arguments:
        command = getattr(command, "commands", {}).get(word, command)
    return {param.name: param for param in command.params if param.param_type_name == "option"}


def _as_flag(option: Any, value: object) -> str:
    """Return an option with its value; of two spellings the short one."""
    if option.is_flag:
        return str(option.secondary_opts[0] if value is False else option.opts[0])
    from quorate.cli.table_source import join_names

    flag = min(option.opts, key=len)
    if value is None:
        return str(flag)
    return f"{flag} {shlex.quote(join_names(value) if isinstance(value, list | tuple) else str(value))}"
