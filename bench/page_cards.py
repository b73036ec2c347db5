#!/usr/bin/env python3
"""What the page of many runs costs: python3 bench/page_cards.py build/regimen [first|live]

first: 10,000 runs in 200 groups of 50 seeds, 2,000 lines a run. Told is the time from the navigation to the first card, and to all
cards in sight with all of their runs, of groups and of runs by themselves, each in a server that has just read everything.
live: 20 runs that write two lines a second; the page stays open for SECONDS (20; 3,600 for the figure in docs/web.md). Told are
processor and memory of the server, and of the browser with all of its processes: the least in the first third of the time and in
the last, both behind a quarter as long again, 10 minutes at most."""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "tests" / "browser"))
import material  # noqa: E402
from browser import Browser  # noqa: E402
from server import Serve  # noqa: E402

RUNS, GROUPS, LIVE = int(os.environ.get("RUNS", 10000)), 200, 20
SECONDS = int(os.environ.get("SECONDS_OPEN", 20))
CONFIG = """description: seed {seed} of group {group}
model: {{type: {model}, hidden: [{hidden}]}}
optimizer: {{type: adam, learning_rate: {rate}}}
trainer: {{epochs: 1000}}
runtime: {{seed: {seed}, threads: 1}}
"""


def make_runs(regimen, folder):
    """One run is trained; the others have its files, and a configuration of their own."""
    runs = folder / "runs"
    runs.mkdir()
    first = runs / "g0-seed-0"
    model = material.graph(str(folder), epochs=1000, hidden=4)
    subprocess.run([regimen, "run", model, "-q", "--run-dir", str(first), "--set", "trainer.histograms=false"], check=True, stdout=subprocess.DEVNULL)
    shutil.rmtree(first / "export", ignore_errors=True)
    for i in range(1, RUNS):
        run = runs / f"g{i % GROUPS}-seed-{i // GROUPS}"
        subprocess.run(["cp", "-rl", str(first), str(run)], check=True)
    for i in range(RUNS):
        path = runs / f"g{i % GROUPS}-seed-{i // GROUPS}" / "config.yaml"
        group = i % GROUPS
        path.unlink()
        path.write_text(CONFIG.format(seed=i // GROUPS, group=group, model=("gcn", "gat", "sage", "gin")[group % 4], hidden=4 << group % 5, rate=f"{0.0001 * (1 + group):.4f}"))

    for file in first.rglob("*"):  # it has ended an hour ago: what trains now is looked at again with each request
        os.utime(file, (time.time() - 3600,) * 2)


def timed(page, address, done):
    page.open(address)
    return page.js(f"new Promise(got => {{ const look = () => {done} ? got(performance.now()) : requestAnimationFrame(look); look(); }})", 120)


def first(regimen, folder):
    make_runs(regimen, folder)
    line = "document.querySelector('.board path.line[data-series]')"
    still = "!document.querySelector('.board-head .told').textContent.includes('so far')"
    with Browser() as browser:
        for name, query in (("groups", "?group=seeds&kind=run"), ("runs", "?kind=run")):
            took, whole = [], []
            for _ in range(5):  # each time a server that has no curve yet
                with Serve(regimen, "runs", cwd=folder) as serve:
                    page = browser.page()
                    page.open(serve.address.replace("/?", "/cluster?"))
                    serve.until(lambda: serve.get("/api/v1/page")["runs"]["read"] == RUNS, "whole index", 120)
                    took.append(timed(page, serve.where + "/" + query, line))
                    whole.append(page.js(f"new Promise(got => {{ const look = () => {line} && {still} ? got(performance.now()) : requestAnimationFrame(look); look(); }})", 120))
                    memory = serve.resident(peak=True)
                    page.close(check=False)
            took.sort()
            whole.sort()
            print(f"first card of {RUNS} runs, {name:<7}              {took[2]:8.1f} ms   goal 500 ms{'' if took[2] < 500 else '  MISSED'}")
            print(f"  all cards in sight, all of their runs   {whole[2]:8.1f} ms")
            print(f"  memory of the server                    {memory / 1e6:8.1f} MB")


def ticks(pids):
    total = 0
    for pid in pids:
        try:
            with open(f"/proc/{pid}/stat") as file:
                fields = file.read().rpartition(")")[2].split()
            total += int(fields[11]) + int(fields[12])
        except OSError:
            pass
    return total / os.sysconf("SC_CLK_TCK")


def session_of(leader):
    """All processes of the browser: it began a session of its own."""
    found = []
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                with open(f"/proc/{name}/stat") as file:
                    if int(file.read().rpartition(")")[2].split()[3]) == leader:
                        found.append(int(name))
            except OSError:
                pass
    return found


def own_memory(pids):
    """What these processes have to themselves or share with each other: not the program's file, whose share falls with each other browser."""
    total = 0
    for pid in pids:
        try:
            with open(f"/proc/{pid}/smaps_rollup") as file:
                total += sum(int(size) for size in re.findall(r"^Pss_(?:Anon|Shmem):\s+(\d+)", file.read(), re.M)) * 1024
        except OSError:
            pass
    return total


def live(regimen, folder):
    writers = [material.Writer(str(folder / "runs" / f"live-{i}"), CONFIG.format(seed=i, group=0, model="gcn", hidden=4, rate=0.01)) for i in range(LIVE)]
    step = 0

    def write(n):
        nonlocal step
        for _ in range(n):
            step += 1
            for i, writer in enumerate(writers):
                writer.line("train", step, loss=(i + 1) / step ** 0.5, accuracy=1 - 1 / (1 + step / 500 + i / 20))
                writer.line("valid", step, loss=1.1 * (i + 1) / step ** 0.5, accuracy=1 - 1.1 / (1 + step / 500 + i / 20))

    write(500)
    with Serve(regimen, "runs", cwd=folder) as serve, Browser() as browser:
        page = browser.page()
        page.open(serve.address)
        ids = [r["id"] for r in serve.runs("&kind=run")]
        page.open(f"{serve.where}/?selected={','.join(ids)}")
        page.wait("document.querySelectorAll('.board path.line[data-series]').length >= 40")
        for domain in ("Network", "DOM", "Accessibility", "Log"):  # who watches these makes the browser keep 100 MB of answers, and nodes that are gone
            page.ask(f"{domain}.disable")
        samples = []
        begin = last = time.monotonic()
        leader, before = browser.pipe.pid, None
        warm = min(600, SECONDS / 4)  # what is compiled and kept at first, and the room that scripts' garbage gets, are no growth
        told = 0
        while time.monotonic() < begin + warm + SECONDS:
            time.sleep(max(0, last + 1 - time.monotonic()))
            last += 1
            write(1)
            if time.monotonic() - begin >= warm and before is None:
                before = (time.monotonic(), serve.cpu(), ticks(session_of(leader)))
            if before and time.monotonic() - told > max(10, SECONDS / 60):
                told = time.monotonic()
                page.js("window.gc && gc(); 1")
                samples.append((told - begin, serve.resident(), own_memory(session_of(leader)), page.js("performance.memory.usedJSHeapSize"), page.js("document.getElementsByTagName('*').length")))
        took = time.monotonic() - before[0]
        server, client = (serve.cpu() - before[1]) / took, (ticks(session_of(leader)) - before[2]) / took
        moved = page.js("Math.max(...[...document.querySelectorAll('.board .axis.x')].map(a => JSON.parse(a.dataset.domain)[1]))")
        if moved < step - 60:
            raise AssertionError(f"the page stands at step {moved}, the runs at {step}: it was not live")
        page.check()
        third = max(1, len(samples) // 3)
        lowest = lambda part, k: min(s[k] for s in part)  # between two, the browser takes room for what is to be thrown away
        print(f"page of {LIVE} live runs, open for {took:.0f} s")
        for name, share in (("server", server), ("browser", client)):
            print(f"  processor, {name:<8}                     {100 * share:8.2f} %")
        print(f"  both                                    {100 * (server + client):8.2f} %    goal 5 % of a core{'' if server + client < 0.05 else '  MISSED'}")
        for k, name in ((1, "server"), (2, "browser"), (3, "JavaScript")):
            print(f"  memory, {name:<10} least of first and last third {lowest(samples[:third], k) / 1e6:8.1f} and {lowest(samples[-third:], k) / 1e6:.1f} MB")
        print(f"  elements                                {samples[0][4]:8d} and {samples[-1][4]}")
    for writer in writers:
        writer.close()


def main():
    regimen = str(pathlib.Path(sys.argv[1]).resolve())
    for name in sys.argv[2:] or ["first", "live"]:
        with tempfile.TemporaryDirectory(dir="/var/tmp") as folder:
            folder = pathlib.Path(folder)
            if name == "first":
                first(regimen, folder)
            else:
                (folder / "runs").mkdir()
                live(regimen, folder)


main()
