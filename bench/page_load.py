#!/usr/bin/env python3
"""What 100 open pages cost the server while a search goes on: python3 bench/page_load.py build/regimen

A real browser opens the page of a running search; what it asks after each notice is noted. Then 100 clients hold a stream each
and ask just that, as often as the page would, on connections that stay open. Told are the processor seconds of `regimen serve`
and of `regimen master` in each second, by /proc; the trials' own are neither. And how long 10,000 runs take in the browser, from
the navigation to the first row."""
import http.client
import pathlib
import subprocess
import sys
import tempfile
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "tests" / "browser"))
import material  # noqa: E402
from browser import Browser  # noqa: E402
from server import Master, Serve  # noqa: E402

PAGES, SECONDS, RUNS = 100, 20, 10000


def watched(page, seconds):
    """What the browser tells is heard while it is asked something."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        page.js("1")
        time.sleep(0.2)


def noted(serve, path):
    """What the page asks in its own words while it is open: {address: how often a second}."""
    with Browser() as browser:
        page = browser.page()
        page.open(serve.address)
        page.open(serve.where + path)
        page.wait("document.querySelector('h1') !== null")
        watched(page, 3)
        begin, before = time.monotonic(), len(page.requests)
        watched(page, 10)
        asked = list(page.requests.values())[before:]
        took = time.monotonic() - begin
    often = {}
    for request in asked:
        if "/api/v1/" in request["url"] and "/events?topics" not in request["url"]:
            address = request["url"].removeprefix(serve.where)
            often[address] = often.get(address, 0) + 1 / took
    if not often:
        raise AssertionError("the page asked nothing: it was not live")
    return often


class Page(threading.Thread):
    """A page as the server sees it."""

    def __init__(self, serve, cookie, topics, often, over):
        super().__init__(daemon=True)
        self.serve, self.cookie, self.topics, self.often, self.over = serve, cookie, topics, often, over
        self.answers = self.notices = 0

    def listen(self):
        host = self.serve.where.removeprefix("http://")
        stream = http.client.HTTPConnection(host, timeout=60)
        stream.request("GET", "/api/v1/events?topics=" + self.topics, headers={"Cookie": self.cookie})
        lines = stream.getresponse()
        while not self.over.is_set():
            if lines.readline().startswith(b"event:"):
                self.notices += 1

    def run(self):
        threading.Thread(target=self.listen, daemon=True).start()
        connection = http.client.HTTPConnection(self.serve.where.removeprefix("http://"), timeout=60)
        due = {address: time.monotonic() + hash((address, id(self))) % 1000 / 1000 / rate for address, rate in self.often.items()}
        while not self.over.is_set():
            address = min(due, key=due.get)
            wait = due[address] - time.monotonic()
            if wait > 0 and self.over.wait(wait):
                return
            connection.request("GET", address, headers={"Cookie": self.cookie})
            answer = connection.getresponse()
            if answer.status != 200:
                raise AssertionError(f"{answer.status} {address}")
            answer.read()
            self.answers += 1
            due[address] = max(time.monotonic(), due[address]) + 1 / self.often[address]


def let_in(serve):
    """The cookie of a page."""
    connection = http.client.HTTPConnection(serve.where.removeprefix("http://"), timeout=20)
    connection.request("GET", serve.address.removeprefix(serve.where))
    return connection.getresponse().getheader("Set-Cookie").split(";")[0]


def live(regimen, folder):
    with Master(regimen, "experiments", slots=1, cwd=folder) as master:
        search = material.SEARCH.format(description="for many to watch", searcher="random", trials=2000, length=4000,
                                        more=", max_concurrent_trials: 1")
        (folder / "search.yaml").write_text(search)
        number = master.create("search.yaml")
        with Serve(regimen, "experiments", cwd=folder) as serve:
            time.sleep(2)
            often = noted(serve, f"/experiments/1/{number}")
            over, cookie = threading.Event(), let_in(serve)
            pages = [Page(serve, cookie, f"experiment:1:{number}", often, over) for _ in range(PAGES)]
            for page in pages:
                page.start()
            time.sleep(3)
            begin, cpu, masters, answers = time.monotonic(), serve.cpu(), master.cpu(), sum(p.answers for p in pages)
            time.sleep(SECONDS)
            took = time.monotonic() - begin
            cpu, masters = (serve.cpu() - cpu) / took, (master.cpu() - masters) / took
            answers = (sum(p.answers for p in pages) - answers) / took
            notices = sum(p.notices for p in pages)
            over.set()
            if notices < PAGES or answers == 0:
                raise AssertionError(f"{notices} notices, {answers} answers a second: nothing was live")
            print(f"{PAGES} pages of a live search, server        {100 * cpu:8.1f} %    goal 20 % of a core"
                  f"{'' if cpu < 0.2 else '  MISSED'}")
            print(f"  answers a second                        {answers:8.1f}")
            print(f"  the master beside them                  {100 * masters:8.1f} %")
            print(f"  memory of the server                    {serve.resident(peak=True) / 1e6:8.1f} MB")


def first_table(regimen, folder):
    runs = folder / "runs"
    runs.mkdir()
    model = material.graph(str(folder), epochs=1000, hidden=4)
    subprocess.run([regimen, "run", model, "-q", "--run-dir", str(runs / "run-0"), "--set", "trainer.histograms=false"], check=True,
                   stdout=subprocess.DEVNULL)
    for i in range(1, RUNS): # its files, once on the disk
        subprocess.run(["cp", "-rl", str(runs / "run-0"), str(runs / f"run-{i}")], check=True)
    with Serve(regimen, "runs", cwd=folder) as serve, Browser() as browser:
        page = browser.page()

        def first_row(address):
            page.open(address)
            return page.js("new Promise(done => { const look = () => document.querySelector('tbody a') ? done(performance.now()) "
                           ": requestAnimationFrame(look); look(); })")

        reading = first_row(serve.address)
        serve.until(lambda: serve.get("/api/v1/page")["runs"]["read"] == RUNS, "whole index")
        first = sorted(first_row(serve.where + "/") for _ in range(5))[2]
        print(f"first row of {RUNS} runs in the browser   {first:8.1f} ms   goal 300 ms{'' if first < 300 else '  MISSED'}")
        print(f"  the very first, while all are read      {reading:8.1f} ms")


def main():
    regimen = str(pathlib.Path(sys.argv[1]).resolve())
    for measure in (first_table, live):
        with tempfile.TemporaryDirectory() as folder:
            measure(regimen, pathlib.Path(folder))


main()
