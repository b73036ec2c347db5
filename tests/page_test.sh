#!/bin/sh
# The page in a real browser: each file of tests/browser by itself, one after another (two cores, and a browser takes both).
#   PAGES="driver runs_page" tests/page_test.sh build/regimen     only these
. "$(dirname "$0")/lib.sh"
regimen=$(realpath "$regimen")
browser=$(cd "$(dirname "$0")" && pwd)/browser
if ! command -v "${CHROMIUM:-chromium}" >/dev/null; then
    echo "SKIPPED: there is no chromium here (scripts/deps.sh installs it): the page was not looked at"
    exit 77
fi
PYTHONDONTWRITEBYTECODE=1 # the sources stay as they are
RGM_PICTURES=${RGM_PICTURES:-}
RGM_MATERIAL=${RGM_MATERIAL:-$work/material} # runs and a search that all files look at and none changes
export PYTHONDONTWRITEBYTECODE RGM_PICTURES RGM_MATERIAL
[ -d "$RGM_MATERIAL" ] || expect 0 /usr/bin/python3 "$browser/material.py" "$regimen" "$RGM_MATERIAL"
for page in ${PAGES:-driver parts runs_page board_page compare_page run_page truth_page experiment_page}; do
    /usr/bin/python3 "$browser/$page.py" "$regimen" >"$work/$page.log" 2>&1 || {
        fail "$page: python3 tests/browser/$page.py $regimen"
        tail -60 "$work/$page.log"
    }
    tail -4 "$work/$page.log" | grep '^Ran' | sed "s/^/$page: /"
done
finish
