#!/bin/sh
# Run ESLint on the JavaScript of the report and the explorer. ESLint is installed once, under .cache/eslint.
# Without npm, or if ESLint cannot be installed (no network), the check is skipped with a message.
set -eu
cd "$(dirname "$0")/.."
folder=.cache/eslint
if ! command -v npm >/dev/null; then
    echo "ESLint skipped: npm is not installed." >&2
    exit 0
fi
if [ ! -x "$folder/node_modules/.bin/eslint" ]; then
    mkdir -p "$folder"
    if ! npm install --prefix "$folder" --no-save --no-package-lock --no-audit --no-fund --silent eslint@9.39.1 >/dev/null 2>&1; then
        echo "ESLint skipped: it could not be installed (no network?)." >&2
        exit 0
    fi
fi
"$folder/node_modules/.bin/eslint" --config eslint.config.mjs src
