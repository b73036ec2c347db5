#!/bin/sh
# Remove from a prefix what `make install` puts there, and the folders of ours that are then empty. What is put
# there is asked of the build: it is installed once more into a scratch folder. Nothing else is touched.
#   scripts/uninstall.sh PREFIX        DESTDIR as with `make install`
set -eu
prefix=$1
cd "$(dirname "$0")/.."
stage=$(mktemp -d)
trap 'rm -rf "$stage"' EXIT
DESTDIR=$stage cmake --install build --prefix "$prefix" >/dev/null
(cd "$stage" && find . -type f -o -type l) | sort >"$stage.files"
trap 'rm -rf "$stage" "$stage.files"' EXIT
removed=0
while read -r file; do
    path=${DESTDIR:-}/${file#./}
    [ -e "$path" ] || [ -L "$path" ] || continue
    rm -f "$path"
    removed=$((removed + 1))
done <"$stage.files"
# Folders that are named after us, and those inside, are ours; deepest first.
case $prefix in /*) ;; *) prefix=$PWD/$prefix ;; esac
(cd "$stage$prefix" && find . -depth -type d -path '*/regimen*') | while read -r folder; do
    rmdir "${DESTDIR:-}$prefix/${folder#./}" 2>/dev/null || true
done
echo "removed  $removed of $(wc -l <"$stage.files") files below ${DESTDIR:-}$prefix"
