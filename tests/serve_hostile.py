"""Hostile requests against a page that is being served: usage serve_hostile.py ADDRESS PID.

Each is bytes on a socket; what it gets must be a refusal or a harmless answer, and afterwards the page answers
its own user within a second. Prints how many there were and what the server's memory came to.
"""
import os
import re
import socket
import sys
import threading
import time

import hostile_talk
from hostile_talk import status

ADDRESS, PID = sys.argv[1], int(sys.argv[2])
HOST, TOKEN = re.match(r"http://([^/]+)/\?token=(\w+)", ADDRESS).groups()
IP, PORT = HOST.rsplit(":", 1)
PORT = int(PORT)
H = f"Host: {HOST}\r\n"
AUTH = f"Authorization: Bearer {TOKEN}\r\n"
OK = H + AUTH
REFUSED = {400, 401, 403, 404, 405, 411, 413, 414, 415, 421, 431, 501, 503, 505, None}  # None: the connection is closed
SECRETS = ("root:", "SECRET-OF-ANOTHER", TOKEN)
failures = []


def talk(sent, count=1):
    """All that comes back, until so many answers are whole or the connection ends."""
    return hostile_talk.talk((IP, PORT), sent, count)


def fail(text):
    failures.append(text)
    print("FAILED:", text)


def check(name, sent, allowed=REFUSED):
    answer = talk(sent)
    got = status(answer)
    if got not in allowed:
        fail(f"{name}: {got}, not one of {sorted(allowed, key=str)}")
    for secret in SECRETS:
        if secret.encode() in answer:
            fail(f"{name}: the answer has {secret[:10]}...")
    if got == 200:
        headers = answer.split(b"\r\n\r\n")[0]
        for header in (b"Content-Security-Policy: default-src 'none'", b"X-Content-Type-Options: nosniff", b"X-Frame-Options: DENY",
                       b"Cross-Origin-Resource-Policy: same-origin", b"Referrer-Policy: no-referrer"):
            if header not in headers:
                fail(f"{name}: no {header.decode()}")
    if b"Access-Control-Allow" in answer:
        fail(f"{name}: an answer for other origins")


def answers():
    """How long its own user waits."""
    start = time.monotonic()
    answer = talk(f"GET /api/v1/page HTTP/1.1\r\n{OK}Connection: close\r\n\r\n")
    if status(answer) != 200:
        fail(f"its own user gets {status(answer)}")
    return time.monotonic() - start


def get(path, headers=OK, method="GET", body=""):
    length = f"Content-Length: {len(body)}\r\n" if body else ""
    return f"{method} {path} HTTP/1.1\r\n{headers}{length}\r\n{body}"


def methods():
    for method in ("PUT", "TRACE", "CONNECT", "OPTIONS", "PROPFIND", "DEBUG", "get", "GET\t", "A" * 5000):
        yield f"method {method[:10]!r}", get("/api/v1/page", method=method), REFUSED
    yield "POST to a page", get("/", method="POST"), REFUSED
    yield "DELETE of a run", get("/api/v1/runs/0123456789abcdef", method="DELETE"), REFUSED
    yield "no method", "/ HTTP/1.1\r\n" + OK + "\r\n", REFUSED
    yield "HTTP/0.9", "GET /api/v1/page\r\n", REFUSED
    yield "HTTP/3.0", f"GET /api/v1/page HTTP/3.0\r\n{OK}\r\n", REFUSED


def hosts():
    for host in ("evil.example", f"evil.example:{PORT}", "127.0.0.1", f"127.0.0.1:{PORT + 1}", f"localhost.evil.example:{PORT}",
                 f"127.0.0.1.nip.io:{PORT}", f"0.0.0.0:{PORT}", f"user@{HOST}", f"{HOST}.", f"{HOST}@evil.example", "", f"[::ffff:127.0.0.1]:{PORT}"):
        yield f"host {host!r}", get("/api/v1/page", f"Host: {host}\r\n{AUTH}"), REFUSED
    yield "no host", get("/api/v1/page", AUTH), REFUSED
    yield "two hosts", get("/api/v1/page", H + "Host: evil.example\r\n" + AUTH), REFUSED
    yield "folded host", get("/api/v1/page", "Host: evil.example\r\n " + HOST + "\r\n" + AUTH), REFUSED
    yield "absolute address", f"GET http://evil.example/api/v1/page HTTP/1.1\r\n{OK}\r\n", REFUSED


def origins():
    for origin in ("http://evil.example", "null", f"https://{HOST}", f"http://{HOST}.evil.example", f"http://127.0.0.1:{PORT + 1}", "file://"):
        yield f"origin {origin}", get("/api/v1/masters/1/experiments/1/kill", OK + f"Origin: {origin}\r\n", "POST", "{}"), REFUSED
        yield f"origin {origin}, GET", get("/api/v1/page", OK + f"Origin: {origin}\r\n"), REFUSED
    for site in ("cross-site", "same-site", "nonsense"):
        yield f"site {site}", get("/api/v1/page", OK + f"Sec-Fetch-Site: {site}\r\n"), REFUSED
    yield "two origins", get("/api/v1/page", OK + f"Origin: http://{HOST}\r\nOrigin: http://evil.example\r\n"), REFUSED


def secrets():
    for wrong in ("", "Bearer", "Bearer ", "Bearer " + TOKEN[:-1], "Bearer " + TOKEN + "0", "Bearer " + TOKEN.upper() + "x", "Basic " + TOKEN,
                  "Bearer " + "0" * 32):
        yield f"authorization {wrong[:9]!r}", get("/api/v1/page", H + f"Authorization: {wrong}\r\n"), REFUSED
    yield "the token as cookie", get("/api/v1/page", H + f"Cookie: regimen_{PORT}={TOKEN}\r\n"), REFUSED
    yield "the token in a query of data", get(f"/api/v1/page?token={TOKEN}", H), REFUSED
    yield "two authorizations", get("/api/v1/page", H + "Authorization: Bearer x\r\n" + AUTH), REFUSED
    yield "an open redirect", get(f"//evil.example/?token={TOKEN}", H), REFUSED
    yield "a header in a redirect", get(f"/?token={TOKEN}&a=%0d%0aSet-Cookie:%20x=y", H), {303}


def paths():
    for path in ("/../../../../etc/passwd", "/static/../../../../etc/passwd", "/static/%2e%2e/%2e%2e/etc/passwd", "/static/..%2f..%2fetc%2fpasswd",
                 "/static/%252e%252e%252fetc%252fpasswd", "/static/....//....//etc/passwd", "/static/..\\..\\etc\\passwd", "/static//etc/passwd",
                 "/static/page.js%00.css", "/static/.", "/static/", "/%2fetc%2fpasswd", "/./api/v1/page", "/api//v1/page", "/api/v1/page/",
                 "/api/v1/runs/../../etc/passwd", "/api/v1/runs/0123456789abcdeg", "/api/v1/runs/0123456789abcdef",
                 "/api/v1/runs/%30123456789abcdef/logs", "/api/v1/runs/0123456789abcdef/logs?file=../../etc/passwd",
                 "/api/v1/runs/0123456789abcdef/exports/../../x", "/api/v1/masters/1/../../../etc/passwd", "/api/v1/masters/99/experiments",
                 "/api/v1/masters/1/trials/1/run?run=0", "/api/v1/masters/1@evil.example/x", "/api/v1/events?topics=../../etc",
                 "/api/v1/page?a=%zz", "/api/v1/page?a=%00", "/api/v1/page?" + "&".join(["a=1"] * 100), "/" + "a" * 40000, "/" + "../" * 5000,
                 "/api/v1/page#x", "*", "/caf\xe9", "/\x01", "/a b"):
        yield f"path {path[:40]!r}", get(path), REFUSED


def headers():
    yield "a header of 40,000 bytes", get("/api/v1/page", OK + "X: " + "a" * 40000 + "\r\n"), REFUSED
    yield "500 headers", get("/api/v1/page", OK + "".join(f"X{i}: a\r\n" for i in range(500))), REFUSED
    yield "a header without colon", get("/api/v1/page", OK + "nonsense\r\n"), REFUSED
    yield "a header with NUL", get("/api/v1/page", OK + "X: a\0b\r\n"), REFUSED | {200}
    yield "two lengths", get("/api/v1/page", OK + "Content-Length: 1\r\nContent-Length: 2\r\n") + "ab", REFUSED
    yield "length and encoding", get("/api/v1/page", OK + "Content-Length: 4\r\nTransfer-Encoding: chunked\r\n") + "0\r\n\r\n", REFUSED
    yield "an unknown encoding", get("/api/v1/page", OK + "Transfer-Encoding: xchunked\r\n") + "0\r\n\r\n", REFUSED
    yield "a bad chunk", get("/api/v1/page", OK + "Transfer-Encoding: chunked\r\n") + "zz\r\n\r\n", REFUSED
    yield "a huge chunk", get("/api/v1/page", OK + "Transfer-Encoding: chunked\r\n") + "ffffffffffffffff1\r\n\r\n", REFUSED
    yield "a negative length", get("/api/v1/page", OK + "Content-Length: -1\r\n"), REFUSED
    yield "a huge length", get("/api/v1/page", OK + "Content-Length: 99999999999999999999999\r\n"), REFUSED
    yield "bytes of TLS", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + os.urandom(500), REFUSED
    yield "noise", os.urandom(20000), REFUSED


def bodies():
    own = OK + f"Origin: http://{HOST}\r\nContent-Type: application/json\r\n"
    target = "/api/v1/masters/1/experiments"
    for name, body in (("no JSON", "{"), ("a list", "[]"), ("a key twice", '{"a": 1, "a": 2}'), ("deep", "[" * 100000), ("deep objects", '{"a":' * 50000),
                       ("a form", "config=x&paused=1"), ("an unknown key", '{"confg": ""}'), ("not UTF-8", '{"config": "\xff\xfe"}'),
                       ("XML", "<?xml version='1.0'?><!DOCTYPE a [<!ENTITY b SYSTEM 'file:///etc/passwd'>]><a>&b;</a>")):
        yield f"body {name}", get(target, own, "POST", body), REFUSED
    yield "a body of 5 MB", get(target, own, "POST", " " * 5000000), REFUSED
    yield "a body for who may not ask", get(target, H, "POST", " " * 5000000), REFUSED
    yield "a body that does not come", get(target, own + "Content-Length: 1000\r\n", "POST") + "{", REFUSED
    yield "a trial's request", get("/api/v1/masters/1/trials/1/workload", own, "POST", '{"run": "0"}'), REFUSED


def pipelined():
    """A smuggled request must not get past the gate behind one that does, nor one answer become another's."""
    sent = get("/api/v1/page", H + "Content-Length: 0\r\n") + get("/api/v1/page", OK)
    answer = talk(sent, 2)
    if answer.count(b"HTTP/1.1 200") > 0:
        fail("pipelined: behind a refusal the connection goes on")
    answer = talk(get("/api/v1/page") * 50 + get("/api/v1/page", OK + "Connection: close\r\n"), 51)
    if answer.count(b"HTTP/1.1 200") != 51:
        fail(f"pipelined: {answer.count(b'HTTP/1.1 200')} of 51 answers")
    return 2


def markup():
    """Names of runs with markup come back as JSON that says what it is."""
    answer = talk(get("/api/v1/runs?limit=1000", OK + "Connection: close\r\n"))
    if b"application/json" not in answer or b"nosniff" not in answer:
        fail("names with markup: the answer is not told to be JSON")
    body = answer.split(b"\r\n\r\n", 1)[1]
    if b"onerror" not in body:
        fail("names with markup: the run is not in the list")
    if b"link-to-etc" in body or b"root:" in body:
        fail("a link out of the folder was followed")
    return 1


def slow():
    """Connections that send a byte a second, and those that send nothing."""
    sockets = []
    for i in range(100):
        s = socket.create_connection((IP, PORT), timeout=5)
        s.sendall([b"", b"GET / HT", f"GET /api/v1/page HTTP/1.1\r\n{H}X: ".encode(),
                   f"POST /api/v1/masters/1/experiments HTTP/1.1\r\n{OK}Content-Length: 1000\r\n\r\n".encode()][i % 4])
        sockets.append(s)
    start, open_now = time.monotonic(), set(sockets)
    while open_now and time.monotonic() - start < 20:
        for s in list(open_now):
            s.settimeout(0.001)
            try:
                s.send(b"x")
                if s.recv(1000) == b"":
                    open_now.discard(s)
            except socket.timeout:
                pass
            except OSError:
                open_now.discard(s)
        if (waited := answers()) > 1:
            fail(f"beside slow clients its own user waits {waited:.1f} s")
        time.sleep(0.5)
    if open_now:
        fail(f"{len(open_now)} of 100 slow clients are connected after {time.monotonic() - start:.0f} s")
    print(f"slow     100 slow clients were cut within {time.monotonic() - start:.0f} s")
    for s in sockets:
        s.close()
    return 100


def many():
    """1,000 connections at once, each with the beginning of large headers."""
    sockets, lock = [], threading.Lock()

    def connect(count):
        for _ in range(count):
            try:
                s = socket.create_connection((IP, PORT), timeout=10)
                s.sendall(b"GET / HTTP/1.1\r\nX: " + b"a" * 30000)
            except OSError:
                continue
            with lock:
                sockets.append(s)

    threads = [threading.Thread(target=connect, args=(100,)) for _ in range(10)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    waited = answers()
    print(f"many     {len(sockets)} connections at once; its own user waited {waited:.3f} s")
    if len(sockets) < 900 or waited > 1:
        fail(f"with {len(sockets)} connections its own user waits {waited:.1f} s")
    for s in sockets:
        s.close()
    if (waited := answers()) > 1:
        fail(f"after 1,000 connections its own user waits {waited:.1f} s")
    return 1000


def memory(which):
    with open(f"/proc/{PID}/status") as f:
        return int(re.search(rf"{which}:\s+(\d+)", f.read())[1]) / 1024


def main():
    before, count, largest = memory("VmRSS"), 0, 0.0
    for group in (methods, hosts, origins, secrets, paths, headers, bodies):
        for name, sent, allowed in group():
            check(name, sent, allowed)
            largest = max(largest, answers())
            count += 1
    count += pipelined() + markup()
    if largest > 1:
        fail(f"between hostile requests its own user waited {largest:.1f} s")
    print(f"hostile  {count} requests, each refused or harmless; its own user waited {largest:.3f} s at most")
    if count < 60:
        fail("fewer than 60")
    many()
    slow()
    print(f"memory   {before:.1f} MiB before, {memory('VmHWM'):.1f} MiB at most")
    if not os.environ.get("RGM_SANITIZE") and memory("VmHWM") > 64:
        fail(f"{memory('VmHWM'):.1f} MiB of memory")
    return 1 if failures else 0


sys.exit(main())
