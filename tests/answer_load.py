"""Clients of `regimen answer` that keep asking: usage answer_load.py ADDRESS TOKEN SECONDS|until=FILE [again].

Each of four connections asks `words` for the same line. Every request must be answered by 200, and its text must be that of its version
(X-Model-Version): of one version always the same. With `again`, a server that ends and begins anew loses nothing that it accepted: a
request that gets 503, or a connection that is refused or closed before a byte of an answer, is asked again; half an answer is a failure.
Prints how many there were, of which versions.
"""
import http.client
import json
import pathlib
import sys
import threading
import time

HOST, TOKEN, UNTIL = sys.argv[1].removeprefix("http://"), sys.argv[2], sys.argv[3]
AGAIN = "again" in sys.argv[4:]
lock, texts, count, again, failures = threading.Lock(), {}, {}, 0, []


def is_over(start):
    if UNTIL.startswith("until="):
        return pathlib.Path(UNTIL[6:]).exists() or time.monotonic() - start > 120
    return time.monotonic() - start > float(UNTIL)


def ask(connection):
    connection.request("POST", "/v1/models/words:predict", '{"instances": ["3 4 5 6"]}', {"Authorization": "Bearer " + TOKEN})
    response = connection.getresponse()
    return response.status, response.headers["X-Model-Version"], response.read()


def client():
    global again
    start, connection = time.monotonic(), http.client.HTTPConnection(HOST, timeout=60)
    while not is_over(start):
        try:
            code, version, body = ask(connection)
        except (ConnectionError, http.client.RemoteDisconnected) as e:
            connection.close()
            if not AGAIN:
                failures.append(f"a connection was lost: {e!r}")
                return
            with lock:
                again += 1
            time.sleep(0.02)
            continue
        except http.client.HTTPException as e:
            failures.append(f"half an answer: {e!r}")
            return
        if code == 503 and AGAIN:
            connection.close()
            with lock:
                again += 1
            time.sleep(0.02)
            continue
        if code != 200:
            failures.append(f"{code}: {body.decode()}")
            return
        with lock:
            count[version] = count.get(version, 0) + 1
            text = json.loads(body)["predictions"][0]["text"]
            if texts.setdefault(version, text) != text:
                failures.append(f"version {version} answers '{text}' and '{texts[version]}'")


threads = [threading.Thread(target=client) for _ in range(4)]
for t in threads:
    t.start()
for t in threads:
    t.join()
print(f"load     {sum(count.values())} requests of versions {' '.join(sorted(count, key=int))}, {again} asked again")
for text in failures:
    print("FAILED:", text)
sys.exit(1 if failures or not count else 0)
