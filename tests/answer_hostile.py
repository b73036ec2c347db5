"""Hostile requests against `regimen answer`: usage answer_hostile.py ADDRESS TOKEN PID.

The models are `words` (lines), `cells` (rows of four numbers) and `prose` (prompts). Each request is bytes on a socket; what it gets must be a refusal or a
harmless answer, and afterwards a model answers its own user within a second. Prints how many there were and what the server's memory
came to.
"""
import os
import re
import socket
import sys
import threading
import time

import hostile_talk
from hostile_talk import status

HOST, TOKEN, PID = sys.argv[1].removeprefix("http://"), sys.argv[2], int(sys.argv[3])
IP, PORT = HOST.rsplit(":", 1)
H = f"Host: {HOST}\r\n"
OK = H + f"Authorization: Bearer {TOKEN}\r\n"
REFUSED = {400, 401, 403, 404, 405, 411, 413, 414, 415, 421, 431, 501, 503, 505, None}  # None: the connection is closed
WORDS, CELLS = "/v1/models/words:predict", "/v1/models/cells:predict"
PROSE, STREAM = "/v1/models/prose:predict", "/v1/models/prose:stream"
failures = []


def talk(sent, count=1):
    return hostile_talk.talk((IP, int(PORT)), sent, count)


def fail(text):
    failures.append(text)
    print("FAILED:", text)


def get(path, headers=OK, method="GET", body=""):
    length = f"Content-Length: {len(body)}\r\n" if body else ""
    return f"{method} {path} HTTP/1.1\r\n{headers}{length}\r\n{body}"


def post(body, path=WORDS, headers=OK):
    return get(path, headers, "POST", body)


def check(name, sent, allowed=REFUSED):
    answer = talk(sent)
    if status(answer) not in allowed:
        fail(f"{name}: {status(answer)}, not one of {sorted(allowed, key=str)}")
    if TOKEN.encode() in answer or b"root:" in answer:
        fail(f"{name}: the answer has what nobody may know")
    if b"Access-Control-Allow" in answer:
        fail(f"{name}: an answer for other origins")


def answers():
    """How long its own user waits."""
    start = time.monotonic()
    answer = talk(post('{"instances": ["3 4"]}', headers=OK + "Connection: close\r\n"))
    if status(answer) != 200:
        fail(f"its own user gets {status(answer)}")
    return time.monotonic() - start


def methods():
    for method in ("PUT", "TRACE", "CONNECT", "OPTIONS", "DELETE", "PATCH", "post", "A" * 5000):
        yield f"method {method[:10]!r}", get(WORDS, method=method), REFUSED
    yield "GET of a prediction", get(WORDS), REFUSED
    yield "POST to metrics", get("/metrics", method="POST"), REFUSED
    yield "no method", "/ HTTP/1.1\r\n" + OK + "\r\n", REFUSED
    yield "HTTP/0.9", f"GET {WORDS}\r\n", REFUSED
    yield "HTTP/3.0", f"GET /metrics HTTP/3.0\r\n{OK}\r\n", REFUSED


def secrets():
    for wrong in ("", "Bearer", "Bearer ", "Bearer " + TOKEN[:-1], "Bearer " + TOKEN + "0", "Basic " + TOKEN, "Bearer " + "0" * 32):
        yield f"authorization {wrong[:9]!r}", get("/metrics", H + f"Authorization: {wrong}\r\n"), {401}
    yield "the token as a cookie", get("/metrics", H + f"Cookie: token={TOKEN}\r\n"), {401}
    yield "the token in a query", get(f"/metrics?token={TOKEN}", H), {401}
    yield "two authorizations", get("/metrics", H + "Authorization: Bearer x\r\n" + OK), REFUSED
    yield "a page of a browser", post('{"instances": ["3"]}', headers=OK + "Origin: http://evil.example\r\n"), {403}
    yield "a page without a token", post('{"instances": ["3"]}', headers=H + "Origin: null\r\n"), {403}
    yield "a body for who may not ask", get(WORDS, H, "POST", " " * 3000000), {401}


def paths():
    for path in ("/../../etc/passwd", "/v1/models/../../etc/passwd", "/v1/models/%2e%2e:predict", "/v1/models/..:predict", "/v1/models/words%00:predict",
                 "/v1/models/words:predict?x=1", "/v1/models/words/versions/1:predict", "/v1/models/WORDS:predict", "/v1/models/:predict",
                 "/v1//models/words:predict", "/v1/models/" + "a" * 65 + ":predict", "/v1/models/words:predict/", "/v1/models/words:", "/" + "a" * 20000,
                 "*", "/caf\xe9", "/\x01", "http://evil.example" + WORDS):
        yield f"path {path[:40]!r}", post('{"instances": ["3"]}', path), REFUSED


def headers():
    yield "a header of 40,000 bytes", get("/metrics", OK + "X: " + "a" * 40000 + "\r\n"), REFUSED
    yield "500 headers", get("/metrics", OK + "".join(f"X{i}: a\r\n" for i in range(500))), REFUSED
    yield "two lengths", post("", headers=OK + "Content-Length: 1\r\nContent-Length: 2\r\n") + "ab", REFUSED
    yield "length and encoding", post("", headers=OK + "Content-Length: 4\r\nTransfer-Encoding: chunked\r\n") + "0\r\n\r\n", REFUSED
    yield "an unknown encoding", post("", headers=OK + "Transfer-Encoding: xchunked\r\n") + "0\r\n\r\n", REFUSED
    yield "a bad chunk", post("", headers=OK + "Transfer-Encoding: chunked\r\n") + "zz\r\n\r\n", REFUSED
    yield "a huge length", post("", headers=OK + "Content-Length: 99999999999999999999999\r\n"), REFUSED
    for text in ("-1", "0", "nan", "x", "1e999x", "1e300", "inf", "86400001"):
        yield f"a time of {text}", post('{"instances": ["3"]}', headers=OK + f"X-Timeout-Ms: {text}\r\n"), {400}
    yield "bytes of TLS", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + os.urandom(500), REFUSED
    yield "noise", os.urandom(20000), REFUSED


def bodies():
    for name, body in (("nothing", ""), ("no JSON", "{"), ("a list", "[]"), ("a number", "1"), ("a key twice", '{"instances": ["2"], "instances": ["3"]}'),
                       ("deep", "[" * 100000), ("deep objects", '{"a":' * 50000), ("deep instances", '{"instances": [' + "[" * 1000 + "]" * 1000 + "]}"),
                       ("a form", "instances=3"), ("an unknown key", '{"instances": ["3"], "x": 1}'), ("no instances", '{"instances": []}'),
                       ("an object of instances", '{"instances": {"0": "3"}}'), ("not UTF-8", '{"instances": ["\xff\xfe"]}'),
                       ("null", '{"instances": [null]}'), ("a zero byte", '{"instances": ["3\\u0000 4"]}'), ("half a pair", '{"instances": ["\\ud800"]}'),
                       ("two lines", '{"instances": ["3\\n4"]}'), ("no token", '{"instances": ["3", "x"]}'), ("a huge token", '{"instances": ["99999999999999999999"]}'),
                       ("too long", '{"instances": ["' + "3 " * 5000 + '"]}'), ("too many", '{"instances": [' + '"3", ' * 5000 + '"3"]}')):
        yield f"body {name}", post(body), REFUSED
    for i, wished in enumerate(('"prefix": 3', '"prefix": "x"', '"required": "4"', '"required": ["x"]', '"required": [' + '"4", ' * 40 + '"4"]', '"banned": [3]',
                                '"banned": [""]', '"text": "4"', '"x": 1', '"prefix": "' + "3 " * 5000 + '"', '"banned": ' + "[" * 1000 + "]" * 1000)):
        yield f"a wish {i}", post(f'{{"instances": ["3", {{"text": "3", {wished}}}]}}'), REFUSED
    for name, row in (("three numbers", "[1, 2, 3]"), ("a text", '"1"'), ("texts", '["1", "2", "3", "4"]'), ("no numbers", "[]"), ("too large", "[1, 2, 3, 1e999]"),
                      ("NaN", "[1, 2, 3, NaN]"), ("beyond floats", "[1e300, 1e300, 1e300, 1e300]"), ("uneven", "[1, 2, 3, 4], [1]"), ("an object", '{"a": 1}'),
                      ("a million", "[" + "1," * 999999 + "1]")):
        yield f"row {name}", post(f'{{"instances": [{row}]}}', CELLS), REFUSED
    yield "a body of 5 MB", post(" " * 5000000), {413, None}
    yield "a body that does not come", post("{", headers=OK + "Content-Length: 1000\r\n"), REFUSED


def wishes():
    """Of prompts, asked for a prediction and a stream by turns."""
    bad = ("3", "null", "[]", "[[]]", "{}", '{"tokens": 3}', '{"prompt": null}', '{"prompt": 3}', '{"prompt": ["one"]}', '{"prompt": {"prompt": "one"}}',
           '{"prompt": "one", "prompt": "two"}', '{"prompt": "one", "tokns": 3}', '{"prompt": "one", "__proto__": {}}', '{"prompt": "\\ud800"}',
           '{"prompt": "a\\u0000b"}', '{"prompt": "' + "one two " * 120000 + '"}',
           *(f'{{"prompt": "one", "{key}": {value}}}' for key, values in (
               ("tokens", ("0", "-1", "1e300", "1.5", '"3"', "null", "true", "[3]", "99999999999999999999")),
               ("temperature", ("-1", "1e999", '"nan"', "NaN", "{}")), ("top_k", ("-1", "0.5", "1e300")), ("top_p", ("0", "1.1", '"inf"')),
               ("min_p", ("-0.1", "2")), ("repetition", ("0", "-1", "1e-310", "1e300")), ("seed", ("-1", "1e16", "0.5")),
               ("stop", ("3", '""', '[""]', '[["a"]]', '["' + "a" * 300 + '"]', "[" + '"a", ' * 16 + '"a"]', "[" * 1000 + "]" * 1000)))
             for value in values))
    for i, instance in enumerate(bad):
        yield f"prompt {instance[:50]}", post(f'{{"instances": [{instance}]}}', (PROSE, STREAM)[i % 2]), REFUSED
    yield "a stream of two", post('{"instances": ["one", "two"]}', STREAM), {400}
    yield "a stream of none", post('{"instances": []}', STREAM), {400}
    yield "a stream of lines", post('{"instances": ["3"]}', "/v1/models/words:stream"), {400}
    yield "a stream of no model", post('{"instances": ["3"]}', "/v1/models/none:stream"), {404}
    yield "a stream for a browser", post('{"instances": ["one"]}', STREAM, OK + "Origin: null\r\n"), {403}
    yield "a stream without a token", post('{"instances": ["one"]}', STREAM, H), {401}
    yield "GET of a stream", get(STREAM), {405}


def streams():
    """Streams without an end that nobody reads, more than there are places, half of them reset."""
    sockets = []
    for i in range(60):
        s = socket.create_connection((IP, int(PORT)), timeout=5)
        s.sendall(post('{"instances": [{"prompt": "one", "tokens": 1000000}]}', STREAM).encode())
        if i % 2 == 0:
            s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        sockets.append(s)
    waited = max(answers() for _ in range(5))
    print(f"streams  beside 60 streams that nobody reads its own user of another model waited {waited:.3f} s at most")
    if waited > 1:
        fail("streams hold up others")
    for s in sockets:
        s.close()
    until, left = time.monotonic() + 60, "1"
    while left.strip("0"):
        figures = talk(get("/metrics")).decode()
        left = "".join(re.findall(r'regimen_(?:texts|streams|queue_questions|busy_requests)\{model="prose"\} (\d+)', figures))
        if time.monotonic() > until:
            fail(f"streams that nobody reads keep their places: {left}")
            break
        time.sleep(0.05)
    answer = talk(post('{"instances": ["one"]}', PROSE))
    if status(answer) != 200:
        fail(f"after them the model answers {status(answer)}")
    return 60


def pipelined():
    """Answers come in the order of their requests, each to its own."""
    lines = [f"{2 + i % 8} {2 + i // 8}" for i in range(50)]
    alone = [talk(post(f'{{"instances": ["{line}"]}}')).split(b"\r\n\r\n", 1)[1] for line in lines]
    answer = talk("".join(post(f'{{"instances": ["{line}"]}}') for line in lines), 50)
    together = [part.split(b"\r\n\r\n", 1)[1] for part in answer.split(b"HTTP/1.1 200 OK")[1:]]
    if together != alone:
        fail(f"pipelined: {sum(a == b for a, b in zip(alone, together))} of 50 answers are those of their requests")
    sent = post("", headers=H + "Content-Length: 0\r\n") + get("/metrics")
    if talk(sent, 2).count(b"HTTP/1.1 200") > 0:
        fail("pipelined: behind a refusal the connection goes on")
    return 2


def slow():
    """Connections that send a byte now and then, or go away before their answer."""
    sockets = []
    for i in range(100):
        s = socket.create_connection((IP, int(PORT)), timeout=5)
        s.sendall([b"", b"POST /v1/mod", f"POST {WORDS} HTTP/1.1\r\n{H}X: ".encode(), post('{"instances": ["3 4 5"]}').encode()][i % 4])
        sockets.append(s)
        if i % 4 == 3:
            s.close()
    waited = max(answers() for _ in range(5))
    print(f"slow     beside 100 slow clients and such that go its own user waited {waited:.3f} s at most")
    if waited > 1:
        fail("slow clients hold up others")
    for s in sockets:
        s.close()
    return 100


def many():
    """2,000 connections at once, more than the server keeps."""
    sockets, lock = [], threading.Lock()

    def connect(count):
        for _ in range(count):
            try:
                s = socket.create_connection((IP, int(PORT)), timeout=10)
                s.sendall(b"GET / HTTP/1.1\r\nX: " + b"a" * 10000)
            except OSError:
                continue
            with lock:
                sockets.append(s)

    threads = [threading.Thread(target=connect, args=(200,)) for _ in range(10)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    waited = answers()
    print(f"many     {len(sockets)} connections at once; its own user waited {waited:.3f} s")
    if waited > 1:
        fail("many connections hold up others")
    for s in sockets:
        s.close()
    return 2000


def memory(which):
    with open(f"/proc/{PID}/status") as f:
        return int(re.search(rf"{which}:\s+(\d+)", f.read())[1]) / 1024


def main():
    before, count, largest = memory("VmRSS"), 0, 0.0
    for group in (methods, secrets, paths, headers, bodies, wishes):
        for name, sent, allowed in group():
            check(name, sent, allowed)
            largest = max(largest, answers())
            count += 1
    count += pipelined()
    if largest > 1:
        fail(f"between hostile requests its own user waited {largest:.1f} s")
    print(f"hostile  {count} requests, each refused or harmless; its own user waited {largest:.3f} s at most")
    if count < 60:
        fail("fewer than 60")
    many()
    slow()
    streams()
    print(f"memory   {before:.1f} MiB before, {memory('VmHWM'):.1f} MiB at most")
    if not os.environ.get("RGM_SANITIZE") and memory("VmHWM") > before + 200:
        fail(f"{memory('VmHWM'):.1f} MiB of memory")
    return 1 if failures else 0


sys.exit(main())
