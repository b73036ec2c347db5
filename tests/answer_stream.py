"""Streams of `regimen answer` as a client reads them.

usage: answer_stream.py ADDRESS TOKEN whole GENERATED     the texts that `regimen generate --json` wrote to a file, as predictions and as streams
       answer_stream.py ADDRESS TOKEN gone                a client that goes away: its place is free
       answer_stream.py ADDRESS TOKEN until               reads a stream without an end until the server ends it; "begun" is printed first
"""
import json
import socket
import sys
import time

HOST, TOKEN = sys.argv[1].removeprefix("http://"), sys.argv[2]
IP, PORT = HOST.rsplit(":", 1)
ENDLESS = {"prompt": "one", "tokens": 1000000}


def request(path, instance=None):
    body = b"" if instance is None else json.dumps({"instances": [instance]}).encode()
    method = "GET" if instance is None else "POST"
    s = socket.create_connection((IP, int(PORT)), timeout=60)
    s.sendall(f"{method} {path} HTTP/1.1\r\nHost: {HOST}\r\nAuthorization: Bearer {TOKEN}\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body)
    return s, s.makefile("rb")


def head(file):
    """The status, and the headers by their names in small letters."""
    status = int(file.readline().split()[1])
    headers = {}
    while line := file.readline().strip().decode():
        name, value = line.split(":", 1)
        headers[name.lower()] = value.strip()
    return status, headers


def chunks(file):
    while size := int(file.readline(), 16):
        yield file.read(size)
        assert file.readline() == b"\r\n"
    assert file.readline() == b"\r\n"


def events(file):
    """(name, data) of each event as it comes."""
    text = b""
    for chunk in chunks(file):
        text += chunk
        while b"\n\n" in text:
            event, text = text.split(b"\n\n", 1)
            fields = dict(line.split(b": ", 1) for line in event.split(b"\n"))
            yield fields.get(b"event", b"").decode(), json.loads(fields[b"data"].decode())
    assert text == b"", text


def predict(instance):
    s, file = request("/v1/models/prose:predict", instance)
    status, headers = head(file)
    body = json.loads(file.read(int(headers["content-length"])))
    assert status == 200, body
    s.close()
    return body["predictions"][0]


def stream(instance):
    s, file = request("/v1/models/prose:stream", instance)
    status, headers = head(file)
    assert status == 200 and headers["content-type"] == "text/event-stream" and headers["transfer-encoding"] == "chunked", headers
    assert headers["cache-control"] == "no-store" and headers["x-model-version"] == "1", headers
    return s, events(file)


def figure(name):
    s, file = request("/metrics")
    _, headers = head(file)
    text = file.read(int(headers["content-length"])).decode()
    s.close()
    return int(next(line.split()[1] for line in text.split("\n") if line.startswith(f'regimen_{name}{{model="prose"}}')))


def whole(path):
    for line in open(path, encoding="utf-8"):
        generated = json.loads(line)
        instance = {"prompt": generated.pop("prompt"), "tokens": 30, "stop": ["thr"]}
        assert predict(instance) == generated, (predict(instance), generated)
        s, told = stream(instance)
        told = list(told)
        assert [name for name, _ in told] == [""] * (len(told) - 1) + ["end"], told
        assert told[-1][1] == generated, (told[-1], generated)
        assert "".join(data["text"] for _, data in told[:-1]) == generated["text"], told
        assert len(told) > 2 or generated["tokens"] < 3, told
        s.sendall(f"GET /healthz HTTP/1.1\r\nHost: {HOST}\r\n\r\n".encode())  # the connection goes on
        assert head(s.makefile("rb"))[0] == 200
        s.close()


def gone():
    s, told = stream(ENDLESS)
    for _ in range(3):
        assert next(told)[0] == ""
    assert figure("streams") == 1 and figure("texts") == 1
    s.shutdown(socket.SHUT_RDWR)
    s.close()
    until = time.monotonic() + 60
    while figure("texts") + figure("streams") > 0:
        assert time.monotonic() < until, "a stream that nobody reads keeps its place"
        time.sleep(0.02)
    assert figure("streams_gone_total") == 1


def until():
    s, told = stream(ENDLESS)
    assert next(told)[0] == ""
    print("begun", flush=True)
    name, data = "", {}
    for name, data in told:
        pass
    assert name == "error" and data == {"error": "the server ends", "code": "RGM_ERR_BUSY"}, (name, data)
    print("ended", flush=True)


{"whole": whole, "gone": gone, "until": until}[sys.argv[3]](*sys.argv[4:])
