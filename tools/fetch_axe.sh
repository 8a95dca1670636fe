#!/usr/bin/env bash
# Puts axe-core, which the accessibility test uses, into .cache (outside git). Does nothing when it is there.
set -euo pipefail
cd "$(dirname "$0")/.."
target=.cache/axe.min.js
[ -s "$target" ] && exit 0
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
(cd "$folder" && npm pack --silent axe-core@4 >/dev/null && tar -xzf axe-core-*.tgz package/axe.min.js)
mkdir -p .cache
cp "$folder/package/axe.min.js" "$target"
