#!/bin/sh
# Hostile requests against `regimen serve`: methods, hosts, origins, secrets, paths, headers, bodies, names with
# markup, links out of the folder, slow clients, 1,000 connections (serve_hostile.py). And how it begins and ends.
. "$(dirname "$0")/lib.sh"
top=$(cd "$(dirname "$0")" && pwd)
XDG_STATE_HOME=$work/state # where tokens are kept
export XDG_STATE_HOME

# Runs whose names and files are meant to do harm.
mkdir -p "$work/runs/<img src=x onerror=alert(1)>" "$work/elsewhere/link-to-etc"
for run in "$work/runs/<img src=x onerror=alert(1)>" "$work/elsewhere/link-to-etc"; do
    printf 'task: {type: classification}\n' >"$run/config.yaml"
    : >"$run/metrics.jsonl"
    ln -s /etc/passwd "$run/log.txt"
done
echo SECRET-OF-ANOTHER >"$work/elsewhere/link-to-etc/config.yaml"
ln -s "$work/elsewhere/link-to-etc" "$work/runs/link-to-etc"
ln -s /etc "$work/runs/etc"

# serve NAME ARGUMENTS...: in the background; $address and $server once it listens. The address of the one before is gone
# first, or it would be taken for this one's.
serve() {
    rm -f "$work/address"
    "$regimen" serve "$@" >"$work/address" 2>"$work/log" &
    server=$!
    wait_for grep -qs '^serve *http' "$work/address" || fail "the page is not served: $(cat "$work/log")"
    address=$(sed -n 's/^serve *\(http.*\)/\1/p' "$work/address")
}

# ended CODE WHAT: soon after the signal that it was sent, a second on a machine that has nothing else to do.
ended() {
    for _ in $(seq 200); do
        kill -0 "$server" 2>/dev/null || break
        sleep 0.1
    done
    kill -0 "$server" 2>/dev/null && fail "$2: it lives on after 20 s"
    wait "$server"
    code=$?
    [ "$code" = "$1" ] || fail "$2: exit $code, not $1: $(cat "$work/log")"
}

serve "$work/runs" --listen 127.0.0.1:0
python3 -B "$top/serve_hostile.py" "$address" "$server" || fail "hostile requests"
host=${address%%/\?*}
expect 1 "$regimen" serve "$work/runs" --listen "${host#http://}"
says "another program does; choose another port \(--listen\)" "$work/err"
expect 1 "$regimen" serve "$work/none" --listen 127.0.0.1:0
says "there is no folder '.*none'" "$work/err"
expect 1 "$regimen" serve "$work/runs" --listen 0.0.0.0:0
says "allow-remote" "$work/err"
(cd "$work" && mkdir empty && cd empty && "$regimen" serve >../out 2>../err) && fail "there was nothing to serve"
says "no folder 'runs' or 'experiments'" "$work/err"

# With a stream that is open it ends all the same.
python3 - "$address" "$work/open" <<'PY' &
import pathlib, re, sys, urllib.request
host, token = re.match(r"(http://[^/]+)/\?token=(\w+)", sys.argv[1]).groups()
stream = urllib.request.urlopen(urllib.request.Request(host + "/api/v1/events?topics=runs", headers={"Authorization": "Bearer " + token}))
while stream.readline():
    pathlib.Path(sys.argv[2]).touch()
PY
listener=$!
wait_for [ -e "$work/open" ] || fail "the stream says nothing"
kill -TERM "$server"
ended 0 "SIGTERM"
wait "$listener" || fail "the stream was not closed"
says "ended" "$work/log"

# A master on another host that takes requests and never answers holds up nobody, and no end.
python3 - "$work/silent" <<'PY' &
import pathlib, socket, sys, time
s = socket.create_server(("127.0.0.1", 0))
pathlib.Path(sys.argv[1] + ".new").write_text(str(s.getsockname()[1]))
pathlib.Path(sys.argv[1] + ".new").rename(sys.argv[1])
time.sleep(120)
PY
silent=$!
wait_for [ -e "$work/silent" ]
serve "$work/runs" --listen 127.0.0.1:0 --master "http://127.0.0.1:$(cat "$work/silent")"
python3 - "$address" <<'PY' || fail "a master that does not answer holds up others"
import re, sys, threading, time, urllib.request
host, token = re.match(r"(http://[^/]+)/\?token=(\w+)", sys.argv[1]).groups()
def ask(path):
    return urllib.request.urlopen(urllib.request.Request(host + path, headers={"Authorization": "Bearer " + token}))
for i in range(20):
    threading.Thread(target=lambda: ask("/api/v1/masters/1000/experiments"), daemon=True).start()
stream = ask("/api/v1/events?topics=runs,queue:1000")
time.sleep(1)
start = time.monotonic()
for i in range(20):
    ask("/api/v1/page").read(), ask("/api/v1/runs").read(), ask("/static/page.js").read()
print(f"silent   beside a master that does not answer 60 requests take {time.monotonic() - start:.3f} s")
sys.exit(time.monotonic() - start > 20) # one that waits for the master takes a minute
PY
kill -TERM "$server"
ended 0 "SIGTERM with a master that does not answer"
kill "$silent"

serve "$work/runs" --listen 127.0.0.1:0 --read-only
kill -INT "$server"
ended 0 "SIGINT"

# A run whose files have more bytes than anybody could read (they are sparse) holds up no other, and no end. Requests for
# it are under way when the server is told to end.
mkdir -p "$work/long/huge" "$work/long/plain"
for run in huge plain; do
    printf 'task: {type: classification}\n' >"$work/long/$run/config.yaml"
    : >"$work/long/$run/metrics.jsonl"
done
truncate -s 1T "$work/long/huge/system.jsonl" "$work/long/huge/tables.jsonl" "$work/long/huge/log.txt"
serve "$work/long" --listen 127.0.0.1:0
python3 - "$address" "$work/asked" <<'PY' || fail "files without end hold up others"
import json, pathlib, re, sys, threading, time, urllib.request
host, token = re.match(r"(http://[^/]+)/\?token=(\w+)", sys.argv[1]).groups()
def ask(path):
    request = urllib.request.Request(host + path, headers={"Authorization": "Bearer " + token})
    return json.load(urllib.request.urlopen(request, timeout=60))
ids = {row["name"]: row["id"] for row in ask("/api/v1/runs")["rows"]}
for path in f"/api/v1/curves?runs={ids['huge']}", f"/api/v1/runs/{ids['huge']}/system", f"/api/v1/runs/{ids['huge']}/logs?q=x":
    for i in range(4):
        threading.Thread(target=lambda p=path: ask(p), daemon=True).start()
start = time.monotonic()
for i in range(5):
    assert ask(f"/api/v1/runs/{ids['plain']}")["name"] == "plain"
took = time.monotonic() - start
print(f"endless  beside 12 requests for files of a terabyte 5 others take {took:.3f} s")
sys.exit(took > 20)
PY
python3 - "$address" <<'PY' &
import re, sys, urllib.request
host, token = re.match(r"(http://[^/]+)/\?token=(\w+)", sys.argv[1]).groups()
def ask(path):
    return urllib.request.urlopen(urllib.request.Request(host + path, headers={"Authorization": "Bearer " + token})).read()
try:
    row = re.search(rb'"id":"(\w+)"[^}]*"name":"huge"', ask("/api/v1/runs"))
    while True:
        ask(f"/api/v1/curves?runs={row[1].decode()}")
except OSError:
    pass # it has ended
PY
asking=$!
kill -INT "$server"
ended 0 "SIGINT while files without end are read"
wait "$asking"

# The token stays over restarts of an address, and no longer where another one is wished for or others could know it.
port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
kept=$XDG_STATE_HOME/regimen/serve-127.0.0.1-$port
again() {
    serve "$work/runs" --listen "127.0.0.1:$port" "$@"
    kill -TERM "$server"
    ended 0 "SIGTERM"
}
again
first=$address
[ "$(stat -c %a "$kept")" = 600 ] || fail "others may read $kept"
again
[ "$address" = "$first" ] || fail "a restart has another address: $address"
again --new-token
[ "$address" != "$first" ] || fail "--new-token draws none"
first=$address
chmod 644 "$kept"
again
[ "$address" != "$first" ] || fail "a token that others could read is believed"
XDG_STATE_HOME=$work/runs/no # it cannot be made: a file stands there
: >"$XDG_STATE_HOME"
again
says "^token +it is another one at the next start: " "$work/log"

# A folder that is not there yet is told, and shown when it is; where none is there, a name is wrong.
serve "$work/long" "$work/later" --listen 127.0.0.1:0
says "there is no folder '.*later' yet" "$work/log"
mkdir -p "$work/later/new"
: >"$work/later/new/metrics.jsonl"
python3 - "$address" <<'PY' || fail "a folder that came later is not shown"
import json, re, sys, time, urllib.request
host, token = re.match(r"(http://[^/]+)/\?token=(\w+)", sys.argv[1]).groups()
end = time.monotonic() + 60
while time.monotonic() < end:
    request = urllib.request.Request(host + "/api/v1/runs", headers={"Authorization": "Bearer " + token})
    if any(row["name"] == "new" for row in json.load(urllib.request.urlopen(request))["rows"]):
        sys.exit(0)
    time.sleep(0.2)
sys.exit(1)
PY
kill -INT "$server"
ended 0 "SIGINT"
finish
