# Try the `quorate` on PATH: "core" from Python, "command" by the command. `make wheel` runs this in an empty folder.
set -eu
if [ "$1" = core ]; then
python - <<'PYTHON'
import pathlib
import sys

import quorate as qt

assert pathlib.Path(qt.__file__).is_relative_to(sys.prefix), f"not the installed package: {qt.__file__}"
assert (pathlib.Path(qt.__file__).parent / "py.typed").exists()
for name in qt.__all__:
    if name != "plot":  # needs the extra
        getattr(qt, name)
print(qt.consensus([[1, 1, 1, 2, 2, 2], [1, 1, 2, 2, 3, 3], [1, 1, 1, 1, 2, 2]], 2).labels)
PYTHON
! message=$(quorate --version 2>&1)
test "$message" = 'Error: The quorate command needs the package typer: pip install "quorate[cli]"'
exit
fi
quorate --version
quorate generate seeds -m 6 --seed 0 -o labels.csv --quiet --force
quorate combine labels.csv -k 3 --truth class -o answer.parquet --force
quorate weigh labels.csv
quorate evaluate answer.parquet --truth class
quorate methods
quorate demo --folder demo --quiet
