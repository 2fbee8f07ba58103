"""Parameters of messages shown as the flags of the command."""

import pytest

from quorate.cli.flags import flag_writer
from quorate.errors import InputError, Setting


@pytest.mark.parametrize(
    ("arguments", "setting", "expected"),
    [
        (["combine"], Setting("n_clusters"), "-k"),
        (["combine"], Setting("n_clusters", 3), "-k 3"),
        (["combine"], Setting("method", "weac"), "--method weac"),
        (["combine"], Setting("init", "ward"), "--set init=ward"),
        (["combine"], Setting("beta"), "--set beta"),
        (["weigh"], Setting("beta"), "--beta"),
        (["combine"], Setting("members", ["a b", "c"]), "--members 'a b,c'"),
        (["cluster"], Setting("features", ["a,b", "c"]), """--features '"a,b",c'"""),
        (["combine"], Setting("force", True), "--force"),
        (["combine"], Setting("header", False), "--no-header"),
        (["combine", "x.csv", "--quiet"], Setting("memory_limit", "2GB"), "--memory-limit 2GB"),
        (["cluster"], Setting("members", "kmeans"), "--generator kmeans"),
        (["bench"], Setting("n_members"), "-m"),
        (["reproduce", "all"], Setting("generator"), "--generator"),
        (["demo"], Setting("init", "ward"), "init='ward'"),
        ([], Setting("init", "ward"), "init='ward'"),
    ],
)
def test_settings_are_shown_as_flags(arguments, setting, expected):
    assert flag_writer(arguments)(setting) == expected


def test_a_message_has_flags_in_the_command_and_parameters_in_python():
    error = InputError(
        "must be at most 5; got 9.", code="k", parameter="n_clusters", hint=("Use ", Setting("method", "weac"), ".")
    )
    assert str(error) == "n_clusters must be at most 5; got 9. Use method='weac'."
    assert error.render(flag_writer(["combine"])) == "-k must be at most 5; got 9. Use --method weac."
