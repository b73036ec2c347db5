"""What the page says when things are not as they were: the server is gone, or draws another token; a log is damaged, checkpoints are
removed; a curve has more points than a picture; a part of the page did not arrive."""
import contextlib
import csv
import http.server
import io
import json
import os
import re
import shutil
import tempfile
import threading

import browser
import material
import plots
import served
import server
import suite

GONE = (r"ERR_CONNECTION_REFUSED", r"ERR_INCOMPLETE_CHUNKED_ENCODING", r"ERR_EMPTY_RESPONSE", r"ERR_CONNECTION_RESET", r"\b503\b")  # 503: asked while it ends
LOST = "document.querySelector('#lost')"


class Server(suite.Case):
    """A server that ends and begins again at the same address, over a run that trains."""

    def setUp(self):
        super().setUp()
        self.home = tempfile.mkdtemp(prefix="regimen-page-")
        self.addCleanup(shutil.rmtree, self.home, ignore_errors=True)
        self.writer = material.Writer(os.path.join(self.home, "runs", "written"))
        self.addCleanup(self.writer.close)
        for step in range(1, 6):
            self.writer.line("train", step, loss=1 / step)
        self.writer.figures(5, 50.0)
        self.port, self.serve = server.free_port(), None
        self.addCleanup(lambda: self.serve and self.serve.end())

    def begin(self, *options):
        self.serve = server.Serve(suite.REGIMEN, "runs", options=options, cwd=self.home, port=self.port,
                                  env={"XDG_STATE_HOME": os.path.join(self.home, "state")})

    def end(self):
        self.assertEqual(self.serve.end(), 0)
        self.serve = None

    def at_the_run(self):
        page = self.page()
        page.allow(*GONE)
        page.open(self.serve.address)
        page.open(f"{self.serve.where}/runs/{self.serve.run('written')['id']}")
        page.wait("document.querySelector('.run-head').innerText.includes(' left')", what="a run that trains does not tell how long yet")
        page.wait("document.querySelector('path.line')")  # all parts of the page are here
        self.assertEqual(page.text(".run-head .state"), "running")
        self.assertTrue(page.js(f"{LOST}.hidden"))
        return page

    def test_gone_and_back(self):
        self.begin()
        first, page = self.serve.address, self.at_the_run()
        loads = page.loads
        self.end()
        page.wait(f"!{LOST}.hidden", what="nobody tells that the server is gone")
        self.assertRegex(page.text("#lost"), r"does not answer\. What is shown was true at \d\d:\d\d:\d\d")
        page.wait("document.querySelector('.run-head .state').innerText === 'was running'")
        self.assertNotIn(" left", page.text(".run-head"))
        self.writer.line("train", 6, loss=0.1)
        self.writer.figures(6, 60.0)
        self.begin()
        self.assertEqual(self.serve.address, first)
        page.wait(f"{LOST}.hidden", 60, what="nobody tells that the server is back")
        page.wait("document.querySelector('.run-head .state').innerText === 'running'")
        page.wait("document.querySelector('.second .facts').innerText.includes('6')", what="what happened meanwhile is not shown")
        page.wait("document.querySelector('.run-head').innerText.includes(' left')")
        self.assertEqual(page.loads, loads)

    def test_another_token_is_told(self):
        self.begin()
        page = self.at_the_run()
        loads, first = page.loads, self.serve.address
        self.end()
        page.wait(f"!{LOST}.hidden")
        self.begin("--new-token")
        self.assertNotEqual(self.serve.address, first)
        page.allow(r"\b401\b", r"MIME type")
        page.wait(f"{LOST}.innerText.includes('no longer let in')", 60, what="a page that is refused does not say so")
        self.assertIn("Open the address that regimen serve has printed", page.text("#lost"))
        other = self.page()
        other.open(self.serve.address)  # the same browser has the new cookie now
        page.wait(f"{LOST}.hidden", 60, what="a page that is let in again does not go on")
        self.assertEqual(page.loads, loads)
        old = self.page()
        self.browser.forget()
        old.allow(r"\b401\b")
        old.open(first)
        self.assertIn("regimen serve", old.text())
        self.assertNotIn("written", old.text())


class Elsewhere(served.Own):
    """A run here, and searches at a master that does not let us in."""

    @classmethod
    def setUpClass(cls):
        class Refusing(http.server.BaseHTTPRequestHandler):
            def log_message(self, *what):
                pass

            def do_GET(self):
                self.send_error(401)

        master = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Refusing)
        threading.Thread(target=master.serve_forever, daemon=True).start()
        cls.addClassCleanup(master.server_close)
        cls.addClassCleanup(master.shutdown)
        cls.options = ("--master", f"http://127.0.0.1:{master.server_port}")
        super().setUpClass()

    @classmethod
    def prepare(cls):
        material.Writer(os.path.join(cls.home, "written")).close()

    def test_searches_that_are_missing_are_told(self):
        page = self.enter("/")
        page.wait("document.querySelector('.tools .wrong')?.innerText.startsWith('1 row; the searches of http://127.0.0.1:')", what="the table is told as whole")
        self.assertIn("are missing: it answers 401: REGIMEN_TOKEN is no token of it", page.text(".tools .wrong"))
        page.click(page.role("button", "CSV"))
        page.wait("document.querySelector('.toast.error')?.innerText.includes('and not all: the searches of')", what="the file is told as whole")
        self.browser.downloaded()


class Damage(served.Own):
    @classmethod
    def prepare(cls):
        path = os.path.join(served.copy_run(cls.home, "graph-1", "hurt"), "metrics.jsonl")
        with open(path, "r+b") as file:
            data = bytearray(file.read())
            cls.line = data[:3000].count(b"\n") + 1
            data[3000] ^= 4
            file.seek(0)
            file.write(data)
        shutil.rmtree(os.path.join(served.copy_run(cls.home, "graph-2", "bare"), "ckpt"))
        failed = material.Writer(os.path.join(cls.home, "failed"))
        failed.line("train", 1, loss=1.0)
        failed.close()
        material.write(os.path.join(failed.path, "result.json"), json.dumps({
            "state": "failed", "reason": "the loss is nowhere", "step": 1, "warnings": {"count": 2, "first": ["<b>first</b>", "second"]}}))

    def test_a_damaged_log_is_told(self):
        page = self.enter(f"/runs/{self.serve.run('hurt')['id']}")
        page.wait("document.querySelector('.run-panel .cut-short')", what="the curves do not tell that they are cut short")
        self.assertEqual(page.text(".run-head .state"), "damaged")
        for where in (".run-head .trouble", ".run-panel .cut-short"):
            self.assertIn(f"metrics.jsonl:{self.line}: the line is damaged", page.text(where))
            self.assertNotIn(self.home, page.text(where))
        steps = [m["step"] for m in material.measured(os.path.join(material.shared(), "runs", "graph-1"), "train")]
        drawn = plots.read(page, "loss")["lines"]["train"]
        self.assertTrue(0 < len(drawn) < len(steps))
        page = self.enter("/")
        page.wait("[...document.querySelectorAll('tbody tr')].some(r => r.innerText.includes('hurt') && r.innerText.includes('damaged'))")

    def test_a_run_without_checkpoints_is_what_it_was(self):
        page = self.enter(f"/runs/{self.serve.run('bare')['id']}")
        page.wait("document.querySelector('.facts dd')")
        self.assertEqual(page.text(".run-head .state"), "finished")
        best = max(m["accuracy"] for m in material.measured(os.path.join(material.shared(), "runs", "graph-2"), "valid"))
        page.wait(f"document.querySelector('.facts').innerText.includes({json.dumps(f'{best:.4g}')})", what=f"no best: {page.text('.facts')}")
        test = material.measured(os.path.join(material.shared(), "runs", "graph-2"), "test")[-1]["accuracy"]
        self.assertRegex(page.text(".facts"), rf"(?i)test accuracy\s+{re.escape(f'{test:.4g}')}")

    def test_why_a_run_failed_is_told(self):
        page = self.enter(f"/runs/{self.serve.run('failed')['id']}")
        page.wait("document.querySelector('.run-head .trouble')")
        self.assertEqual(page.text(".run-head .state"), "failed")
        self.assertIn("the loss is nowhere", page.text(".run-head .trouble"))
        self.assertIn("2 warnings", page.text(".run-head"))
        page.click(".warnings summary")
        self.assertIn("<b>first</b>", page.text(".warnings"))
        page = self.enter("/")
        page.wait("[...document.querySelectorAll('tbody tr')].some(r => r.innerText.includes('the loss is nowhere'))")


class Long(served.Own):
    COUNT = 5000

    @classmethod
    def prepare(cls):
        writer = material.Writer(os.path.join(cls.home, "long"))
        cls.addClassCleanup(writer.close)
        cls.points = [(step, 1 + (step * 7919 % 1000) / 1000) for step in range(1, cls.COUNT + 1)]
        for step, loss in cls.points:
            writer.line("train", step, loss=loss)

    def zoomed(self, page, name):
        plot = plots.read(page, "loss")
        low, high = plot["x"]["domain"]
        return plot, [p for p in plot["lines"][name] if low < p[0] < high], [p for p in self.points if low < p[0] < high]

    def differs(self, page, name):
        plot, drawn, measured = self.zoomed(page, name)
        if not 400 < len(measured) < 600:
            return f"{len(measured)} points are zoomed into"
        return plots.same(drawn, measured, plot)

    def every_point_comes(self, page, name):
        """They are an answer of their own, which is asked for after the zoom is drawn."""
        with contextlib.suppress(browser.Failure):
            page.until(lambda: self.differs(page, name) is None, "")
        self.assertIsNone(self.differs(page, name))

    def look(self, path, overlay, name):
        page = self.enter(path)
        page.wait("document.querySelector('path.line')")
        self.still(page)
        self.assertLessEqual(len(plots.read(page, "loss")["lines"][name]), 1004)
        page.wait("document.body.innerText.includes('thinned out')", what="nobody tells that points are left out")
        page.drag(overlay, (0.5, 0.5), (0.6, 0.5))
        page.wait_address("zoom=")
        self.every_point_comes(page, name)
        page.reload()  # an address with a zoom shows as much
        page.wait("document.querySelector('path.line')")
        self.every_point_comes(page, name)
        page.click(page.role("button", "Save loss as CSV"))
        rows = list(csv.reader(io.StringIO(self.browser.downloaded()[1].decode())))[1:]
        self.assertEqual([(int(step), float(loss)) for _, step, loss in rows], self.points)

    def test_a_zoom_has_every_point_and_csv_all(self):
        self.look(f"/runs/{self.serve.run('long')['id']}?tab=curves", "figure.chart .brush .overlay", "train")

    def test_a_comparison_too(self):
        self.look(f"/compare?runs={self.serve.run('long')['id']}", ".card-place[data-card=loss] .brush .overlay", "long")


class Small(served.Served):
    def test_any_key_may_be_pressed_in_the_table(self):
        page = self.enter("/")
        page.wait("document.querySelectorAll('tbody tr[data-index]').length > 2")
        page.js("document.querySelector('table.grid, .grid table, table').focus()")
        page.press("x", "ArrowDown", "b", "Delete", "ArrowDown", "t")
        page.wait("document.activeElement.tagName === 'INPUT'", what="T does not change the tags")
        page.press("Escape")

    def test_a_part_that_did_not_arrive_comes_with_the_next_load(self):
        page = self.enter(f"/runs/{self.serve.run('graph-1')['id']}?tab=curves")
        page.wait("document.querySelector('path.line')")
        page.allow(r"run_model\.js")
        page.ask("Network.setBlockedURLs", urls=["*run_model.js*"])
        page.click("[role=tab][data-key=model]")
        page.wait("document.querySelector('.run-panel .trouble')?.innerText.includes('was not loaded')")
        page.ask("Network.setBlockedURLs", urls=[])
        with contextlib.suppress(browser.Failure):  # or the page has heard its server meanwhile, and has loaded itself
            page.click(page.role("button", "Load the page again", seconds=2))
        page.wait("document.querySelector('.run-panel')?.innerText.includes('parameters')", what="the part is still not there")
        self.assertIn("tab=model", page.url)

    def test_states_that_are_offered_are_those_that_rows_have(self):
        page = self.enter("/")
        page.click(page.role("button", "Add a filter"))
        page.type(page.role("combobox", "Key"), "state")
        offered = page.js("[...document.querySelectorAll('.filters datalist')].at(-1).querySelectorAll('option').length")
        words = page.js("[...[...document.querySelectorAll('.filters datalist')].at(-1).querySelectorAll('option')].map(o => o.value)")
        self.assertGreater(offered, 5)
        states = {r["state"] for r in self.serve.get("/api/v1/runs?kind=all&limit=1000")["rows"]}
        self.assertLessEqual(states, set(words))
        self.assertTrue(all(word == word.lower() for word in words), words)


if __name__ == "__main__":
    suite.main()
