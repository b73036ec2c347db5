"""The programs that the page stands before, started and ended: `regimen serve`, `regimen master`, a run that trains."""
import json
import os
import re
import signal
import socket
import subprocess
import tempfile
import time
import urllib.error
import urllib.request


class Process:
    """One of regimen's commands in the background; what it says goes to files."""

    def __init__(self, *command, cwd=None, env=None):
        self.out, self.err = tempfile.TemporaryFile(), tempfile.TemporaryFile()
        self.command = [str(c) for c in command]
        self.child = subprocess.Popen(self.command, cwd=cwd, env={**os.environ, **(env or {})}, stdin=subprocess.DEVNULL,
                                      stdout=self.out, stderr=self.err, start_new_session=True)

    def said(self, file):
        here = os.dup(file.fileno())
        try:
            return os.pread(here, 1 << 20, 0).decode(errors="replace")
        finally:
            os.close(here)

    def until(self, done, what, seconds=60):
        """What done() comes to, once that is something."""
        end = time.monotonic() + seconds
        while True:
            value = done()
            if value:
                return value
            if self.child.poll() is not None or time.monotonic() > end:
                raise AssertionError(f"{' '.join(self.command)}: no {what}; exit {self.child.poll()}\n"
                                     f"{self.said(self.out)[-1000:]}{self.said(self.err)[-2000:]}")
            time.sleep(0.02)

    def end(self, how=signal.SIGINT, seconds=60):
        """Its exit status; what its group still has goes too."""
        if self.child.poll() is None:
            self.child.send_signal(how)
        try:
            code = self.child.wait(seconds)
        except subprocess.TimeoutExpired:
            code = None
        try:
            os.killpg(self.child.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.child.wait()
        self.out.close()
        self.err.close()
        return code

    def __enter__(self):
        return self

    def __exit__(self, kind, value, trace):
        self.end()

    def cpu(self):
        """Seconds of processor it has used, without its children."""
        with open(f"/proc/{self.child.pid}/stat") as file:
            fields = file.read().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def resident(self, peak=False):
        """Bytes in memory now, or at most so far."""
        with open(f"/proc/{self.child.pid}/status") as file:
            return int(re.search(r"VmHWM:\s+(\d+)" if peak else r"VmRSS:\s+(\d+)", file.read())[1]) * 1024


def free_port():
    """One that nobody listens at just now."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


class Serve(Process):
    """`regimen serve` on a free port, or on this one. address: with the token, as it is printed; where: without."""

    def __init__(self, regimen, *folders, options=(), cwd=None, env=None, port=0):
        super().__init__(regimen, "serve", "--listen", f"127.0.0.1:{port}", *options, *folders, cwd=cwd, env=env)
        try:
            found = self.until(lambda: re.search(r"http://\S+", self.said(self.out)), "address")
        except AssertionError:
            self.end()
            raise
        self.address = found[0]
        self.where = self.address.split("/?")[0]
        self.opener = urllib.request.build_opener(urllib.request.ProxyHandler({}), urllib.request.HTTPCookieProcessor())
        self.let_in = False

    def get(self, path, method="GET", body=None):
        """An answer's JSON, asked with the cookie, as a test that is no browser asks."""
        if not self.let_in:
            self.opener.open(self.address, timeout=60).read()
            self.let_in = True
        request = urllib.request.Request(self.where + path, method=method, headers={"Origin": self.where})
        if body is not None:
            request.data = json.dumps(body).encode()
            request.add_header("Content-Type", "application/json")
        try:
            with self.opener.open(request, timeout=60) as answer:
                return json.load(answer)
        except urllib.error.HTTPError as error:
            raise AssertionError(f"{method} {path}: {error.code} {error.read()[:500]}") from None

    def runs(self, query=""):
        return self.get("/api/v1/runs?limit=1000" + query)["rows"]

    def run(self, name):
        """The run of this name, once the server has seen it."""
        return self.until(lambda: next((r for r in self.runs() if r["name"] == name), None), f"run '{name}'")


class Master(Process):
    """`regimen master` over a folder, with the verbs that speak to it."""

    def __init__(self, regimen, folder, slots=2, cwd=None):
        self.regimen, self.folder, self.cwd = regimen, str(folder), cwd
        super().__init__(regimen, "master", "--master", folder, "--slots", slots, cwd=cwd)
        self.until(lambda: os.path.exists(os.path.join(cwd or ".", self.folder, "master.sock")), "socket")

    def ask(self, *words):
        """regimen WORDS --master FOLDER: what it prints."""
        return subprocess.run([self.regimen, *words, "--master", self.folder], cwd=self.cwd, check=True, timeout=60,
                              capture_output=True, text=True).stdout

    def create(self, file, *options):
        return int(re.search(r"Created experiment (\d+)", self.ask("experiment", "create", str(file), *options))[1])

    def describe(self, number):
        return json.loads(self.ask("experiment", "describe", str(number), "--json"))[0]

    def state(self, number):
        return self.describe(number)["state"]
