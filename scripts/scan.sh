#!/bin/sh
# Wapiti, the web vulnerability scanner of Debian's packages, against the page: a server over made-up run folders (with
# names that are markup), entered by its cookie, every module that wapiti calls common; loopback alone, a few minutes.
#   scripts/deps.sh scan && scripts/scan.sh [build/regimen]      exit 1: it found something; 77: no wapiti here
set -eu
cd "$(dirname "$0")/.."
regimen=$(realpath "${1:-build/regimen}")
command -v wapiti >/dev/null || {
    echo "SKIPPED: there is no wapiti here (scripts/deps.sh scan installs it)"
    exit 77
}
work=$(mktemp -d /tmp/regimen-scan-XXXXXX)
server=
trap 'test -z "$server" || kill "$server" 2>/dev/null || :; rm -rf "$work"' EXIT
trap 'exit 1' INT TERM
PYTHONDONTWRITEBYTECODE=1 /usr/bin/python3 tests/browser/material.py "$regimen" "$work/material"
"$regimen" serve --listen 127.0.0.1:0 "$work/material/runs" "$work/material/experiments" >"$work/address" 2>"$work/err" &
server=$!
for _ in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
    grep -q http "$work/address" && break
    sleep 0.1
done
address=$(sed -n 's/.*\(http[^ ]*\).*/\1/p' "$work/address")
where=${address%%/\?token=*}

# The cookie, and the addresses that a script makes and a crawler therefore does not find.
/usr/bin/python3 - "$address" "$where" "$work" <<'PY'
import http.cookiejar, json, sys, urllib.request
address, where, work = sys.argv[1:]
jar = http.cookiejar.CookieJar()
opener = urllib.request.build_opener(urllib.request.ProxyHandler({}), urllib.request.HTTPCookieProcessor(jar))
opener.open(address).read()
json.dump({"127.0.0.1": {"/": {c.name: {"value": c.value, "expires": None, "secure": False, "port": None, "version": "0"} for c in jar}}},
          open(work + "/cookies.json", "w"))
get = lambda path: json.load(opener.open(where + path))
ids = [r["id"] for r in get("/api/v1/runs?kind=run")["rows"]]
paths = ["/", "/cluster", "/compare?runs=" + ",".join(ids[:2]), "/runs/" + ids[0] + "?tab=log", "/experiments/1/1?tab=trials",
         "/api/v1/runs?q=a&kind=run&state=finished&where=best%20%3E%200&sort=name&order=asc&columns=step&offset=0&limit=10&describe=1",
         "/api/v1/curves?runs=" + ids[0] + "&metrics=valid.loss&points=10&after=1", "/api/v1/configs?runs=" + ids[0],
         "/api/v1/page", "/api/v1/requests", "/api/v1/masters/1/experiments?limit=10&offset=0"]
for path in ("", "/config", "/logs?file=log&q=a&limit=100&offset=0", "/logs?tail=5", "/checkpoints", "/exports", "/histograms?tag=a", "/samples",
             "/confusion?split=valid&step=1", "/system", "/model"):
    paths.append("/api/v1/runs/" + ids[0] + path)
open(work + "/paths", "w").write("\n".join(paths))
PY
set --
while read -r path; do set -- "$@" -s "$where$path"; done <"$work/paths"
begun=$(date +%s)
HOME=$work timeout 900 wapiti -u "$where/" "$@" --scope domain -c "$work/cookies.json" -m common,backup,buster,crlf,csrf,htaccess,methods,redirect,shellshock,-ssrf \
    --max-scan-time "${SCAN_SECONDS:-240}" --max-attack-time 60 --max-links-per-page 50 --no-bugreport --flush-session \
    -f json -o "$work/report.json" >"$work/log" 2>&1 || { tail -20 "$work/log"; exit 1; }
kill -0 "$server" || { echo "the server ended under the scan:"; cat "$work/err"; exit 1; }
/usr/bin/python3 - "$work" "$(($(date +%s) - begun))" <<'PY'
import glob, json, sqlite3, sys
work = sys.argv[1]
report = json.load(open(work + "/report.json"))
session, = glob.glob(work + "/.wapiti/scans/*.db")
seen = [status for status, in sqlite3.connect(session).execute("SELECT http_status FROM paths WHERE NOT evil")]
# What this version asks for and what would be wrong here: browsers took the filter of X-XSS-Protection out, and "0" is the
# advice (OWASP); the other two are for what is encrypted (RFC 6797, 7.2; RFC 6265, 4.1.2.5), and a loopback address is not.
meant = ("X-XSS-Protection is not set", "Strict-Transport-Security is not set", "Secure flag is not set in the cookie")
found = [(kind, name, f) for kind in ("vulnerabilities", "anomalies") for name, all in report[kind].items() for f in all
         if not f["info"].startswith(meant)]
for kind, name, f in found:
    print(f"{kind[:-1] if kind == 'anomalies' else 'vulnerability'}: {name}: {f['method']} {f['path']} {f.get('parameter') or ''} {f['info']}")
entered = seen.count(200) >= 20
print(f"{report['infos'].get('version', 'wapiti')}: {len(seen)} addresses, {seen.count(200)} answered with 200, in {sys.argv[2]} s; "
      f"{len(report['vulnerabilities'])} kinds of weakness looked for, {len(found) or 'nothing'} found" + ("" if entered else "; IT WAS NOT LET IN"))
sys.exit(bool(found) or not entered)
PY
