#!/bin/sh
# axe-core, Deque's accessibility checker, looks at every page in the light, in the dark and on a phone: nothing that it
# calls serious or critical.
here=$(cd "$(dirname "$0")" && pwd)
axe=$(ls "$here"/../../build/oracle/lib/python3*/site-packages/axe_playwright_python/axe.min.js 2>/dev/null)
if [ -z "$axe" ]; then
    echo "SKIPPED: build/oracle lacks axe (scripts/oracles.sh installs it): no page was checked for accessibility"
    exit 77
fi
PYTHONDONTWRITEBYTECODE=1 RGM_AXE=$axe exec /usr/bin/python3 "$here/../browser/axe.py" "$@"
