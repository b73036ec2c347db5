"""The driver itself: what a page does wrong is seen, what a user does arrives, nothing outlives it.

The tests of the page rest on this: "no console error" means little unless errors are known to be noticed.
"""
import http.server
import os
import re
import subprocess
import threading
import time

import browser
import suite

POLICY = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src *"
HTML = """<!DOCTYPE html><html lang="en"><head><meta name="viewport" content="width=device-width"><title>t</title>
<link rel="icon" href="data:,"><script src="/script.js"></script></head><body>
<button id="go" aria-label="Go on">x</button><label for="field">Name</label><input id="field">
<select id="choice"><option value="1">One</option><option value="2">Two</option></select>
<svg id="plot" width="200" height="100" role="img" aria-label="Plot"></svg><a id="next" href="/next">Next</a>%s</body></html>"""
SCRIPT = """
window.seen = [];
addEventListener('DOMContentLoaded', () => {
    const note = (id, type) => document.getElementById(id).addEventListener(type, e => seen.push([id, type, e.offsetX | 0]));
    note('go', 'click'); note('plot', 'mousedown'); note('plot', 'mousemove'); note('plot', 'mouseup'); note('choice', 'change');
    document.getElementById('field').addEventListener('keydown', e => seen.push(['key', e.key, e.ctrlKey]));
    document.getElementById('go').addEventListener('touchstart', e => seen.push(['go', 'touch', 0]));
});
"""


class Files(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *what):
        pass

    def do_GET(self):
        name = self.path.partition("?")[0]
        status, kind, body = 200, "text/html", HTML % ""
        if name == "/script.js":
            kind, body = "text/javascript", SCRIPT
        elif name == "/styled":
            body = HTML % '<p style="color: red">x</p>'
        elif name == "/missing":
            status, body = 404, "none"
        elif name == "/cut":
            self.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nx")
            self.close_connection = True
            return
        elif name == "/file":
            kind, body = "text/csv", "a,b\r\n"
        data = body.encode()
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        self.send_header("Content-Security-Policy", POLICY)
        if name == "/file":
            self.send_header("Content-Disposition", 'attachment; filename="table.csv"')
        self.end_headers()
        self.wfile.write(data)


class Driver(suite.Case):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Files)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        cls.addClassCleanup(server.server_close)
        cls.addClassCleanup(server.shutdown)
        cls.where = f"http://127.0.0.1:{server.server_port}"

    def told(self, page, *patterns):
        """The page has these problems; without them a test of it would have failed."""
        page.until(lambda: all(any(re.search(p, t) for t in page.problems) for p in patterns),
                   f"not among the problems: {patterns}", 5)
        with self.assertRaises(browser.Failure):
            page.check()

    def test_a_good_page_has_no_problems(self):
        page = self.page()
        page.open(self.where + "/")
        page.check()
        self.assertEqual([r["status"] for r in page.asked("script.js")], [200])

    def test_what_is_wrong_is_seen(self):
        for what, pattern in (
                ("console.error('alas', 3)", "console: alas 3"),
                ("void setTimeout(() => { throw new Error('thrown'); }, 0)", "exception: Error: thrown"),
                ("void Promise.reject(new Error('rejected'))", "exception: Error: rejected"),
                ("fetch('/missing').then(r => r.status)", "404"),
                ("fetch('/cut').then(r => r.text()).catch(() => 0)", "/cut: net::"),
                ("fetch('http://example.com/').catch(() => 0)", r"leaves this machine: http://example\.com"),
                ("fetch('http://93.184.216.34/', {mode: 'no-cors'}).catch(() => 0)", "leaves this machine"),
                ("document.body.appendChild(document.createElement('script')).text = 'seen.push(1)', 0",
                 "content policy: script-src"),
                ("eval('1')", "content policy: script-src"),
        ):
            with self.subTest(what):
                page = self.page()
                page.open(self.where + "/")
                page.check()
                try:
                    page.js(what)
                except browser.Failure:
                    self.assertTrue(what.startswith("eval"), what)
                self.told(page, pattern)
        page = self.page()
        page.open(self.where + "/styled")
        self.told(page, "content policy: style-src-attr")

    def test_what_is_allowed_is_not_told(self):
        page = self.page()
        page.open(self.where + "/")
        page.allow(r"\b404\b")
        page.js("fetch('/missing').then(r => r.status)")
        page.check()

    def test_a_name_is_not_resolved(self):
        page = self.page()
        page.allow("example.com")
        with self.assertRaisesRegex(browser.Failure, "net::ERR_NAME_NOT_RESOLVED"):
            page.open("http://example.com/")

    def test_what_a_user_does_arrives(self):
        page = self.page()
        page.open(self.where + "/")
        page.click(page.role("button", "Go on"))
        self.assertEqual([e[:2] for e in page.js("seen")], [["go", "click"]])
        page.type("#field", "Aa 1!")
        self.assertEqual(page.js("field.value"), "Aa 1!")
        self.assertIn(["key", "a", True], page.js("seen"))  # Control and a, before what was there went
        page.type("#field", "new")
        self.assertEqual(page.js("field.value"), "new")
        page.press("Home", "Delete", "Shift+Tab")
        self.assertEqual((page.js("field.value"), page.focused()["id"]), ("ew", "go"))
        page.select("#choice", "Two")
        self.assertEqual(page.js("choice.value"), "2")
        with self.assertRaisesRegex(browser.Failure, "no choice 'Three' among 1 .One., 2 .Two."):
            page.select("#choice", "Three")
        page.js("void (seen.length = 0)")
        page.drag("#plot", (0.25, 0.5), (0.75, 0.5))
        events = page.js("seen")
        self.assertEqual(events[1], ["plot", "mousedown", 50])
        self.assertEqual(events[-1], ["plot", "mouseup", 150])

    def test_what_is_covered_cannot_be_clicked(self):
        page = self.page()
        page.open(self.where + "/")
        page.js("""(() => { const over = document.createElement('div'); document.body.append(over);
                   Object.assign(over.style, {position: 'fixed', inset: '0', zIndex: 9}); })()""")
        with self.assertRaisesRegex(browser.Failure, "lies over it"):
            page.click("#go")

    def test_history(self):
        page = self.page()
        page.open(self.where + "/")
        page.click("#next")
        page.wait("location.pathname === '/next'")
        page.back()
        self.assertEqual(page.url, self.where + "/")
        page.forward()
        self.assertEqual(page.url, self.where + "/next")

    def test_how_it_is_looked_at(self):
        page = self.page(phone=True, dark=True)
        page.open(self.where + "/")
        dark = "matchMedia('(prefers-color-scheme: dark)').matches"
        self.assertEqual(page.js("[innerWidth, innerHeight, navigator.maxTouchPoints > 0]"), [390, 844, True])
        self.assertTrue(page.js(dark))
        page.click("#go")
        page.wait("seen.length === 2")
        self.assertEqual([e[:2] for e in page.js("seen")], [["go", "touch"], ["go", "click"]])
        page.emulate(dark=False, still=True)
        self.assertFalse(page.js(dark))
        self.assertTrue(page.js("matchMedia('(prefers-reduced-motion: reduce)').matches"))
        self.assertEqual(page.js("innerWidth"), 1280)

    def test_what_it_costs(self):
        page = self.page()
        page.open(self.where + "/")
        before = page.metrics()
        page.js("""(window.kept = Array.from({length: 1000}, () => document.createElement('p')),
                   kept.forEach(p => p.addEventListener('click', () => 0)), 0)""")
        more = page.metrics()
        self.assertGreaterEqual(more["nodes"], before["nodes"] + 1000)
        self.assertGreaterEqual(more["listeners"], before["listeners"] + 1000)
        self.assertGreater(more["heap"], before["heap"])
        page.js("void (kept = null)")
        self.assertLess(page.metrics()["nodes"], before["nodes"] + 100)

    def test_downloads(self):
        page = self.page()
        page.open(self.where + "/")
        page.js("next.href = '/file', next.click(), 0")
        self.assertEqual(self.browser.downloaded(), ("table.csv", b"a,b\r\n"))

    def test_waits_end(self):
        page = self.page()
        page.open(self.where + "/")
        begun = time.monotonic()
        with self.assertRaisesRegex(browser.Failure, "within 0.3 s"):
            page.wait("false", 0.3)
        self.assertLess(time.monotonic() - begun, 3)


class End(suite.Case):
    def test_nothing_outlives_it(self):
        other = browser.Browser()
        other.page().open("about:blank")
        profile, group = other.profile, other.pipe.pid
        other.close()
        self.assertFalse(os.path.exists(profile))
        running = subprocess.run(["ps", "-eo", "pgid,args"], capture_output=True, text=True, check=True).stdout
        self.assertNotIn(profile, running)
        self.assertFalse([line for line in running.splitlines() if line.split()[0] == str(group) and "defunct" not in line])


if __name__ == "__main__":
    suite.main()
