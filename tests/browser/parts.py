"""The parts that all pages are made of, alone: plots, tables, elements out of data. No regimen serve stands behind: the
files of src/web/page come from here, under the content policy that the server sets."""
import http.server
import json
import math
import os
import pathlib
import threading

import plots
import suite

ROOT = pathlib.Path(__file__).resolve().parents[2]
POLICY = ("default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; connect-src 'self'; font-src 'self'; "
          "base-uri 'none'; form-action 'none'; frame-ancestors 'none'")
D3 = ROOT / "src/web/d3/d3.min.js"
HTML = """<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>parts</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<link rel="icon" href="/static/icon.svg"><link rel="stylesheet" href="/static/style.css">
<script src="/static/d3.min.js"></script></head><body><main id="main"></main></body></html>"""
KINDS = {".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml", ".html": "text/html"}


class Files(http.server.BaseHTTPRequestHandler):
    def log_message(self, *what):
        pass

    def do_GET(self):
        name = os.path.basename(self.path)
        path = D3 if name == "d3.min.js" else ROOT / "src/web/page" / name
        body = HTML.encode() if self.path == "/" else path.read_bytes()
        self.send_response(200)
        self.send_header("Content-Type", KINDS.get(path.suffix, "text/html"))
        self.send_header("Content-Security-Policy", POLICY)
        self.end_headers()
        self.wfile.write(body)


class Parts(suite.Case):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Files)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        cls.addClassCleanup(server.server_close)
        cls.addClassCleanup(server.shutdown)
        cls.where = f"http://127.0.0.1:{server.server_port}/"

    def blank(self, **how):
        page = self.page(**how)
        page.open(self.where)
        for name in ("html", "chart", "table", "format"):
            page.js(f"import('/static/{name}.js').then(m => {{ window.{name}_ = m; }})")
        return page


class Plot(Parts):
    STEPS = [1, 2, 5, 10, 40, 100, 250, 1000]
    ALONG = [3.0, 1.5, 0.7, 0.31, 0.12, 0.055, 0.021, 0.0072]

    def plot(self, page, **options):
        """A plot 'Curves' of two lines, one with a gap."""
        series = [{"name": "one", "xs": self.STEPS, "ys": self.ALONG, "colour": "#123456", "best": {"x": 1000, "y": 0.0072}},
                  {"name": "two", "xs": self.STEPS[:4], "ys": [1, None, 2, -1], "colour": "#654321"}]
        page.js(f"""(window.plot = chart_.lineChart({json.dumps({"title": "Curves", "x": {"label": "step"}, "y": {"label": "loss"},
                    "series": series, **options})}), document.getElementById('main').append(plot.element), 0)""")
        page.wait("document.querySelector('path.line')")
        page.browser.pump(0.1)

    def assert_same(self, got, want, plot):
        self.assertIsNone(plots.same(got, want, plot))

    def test_points_are_drawn_where_they_belong(self):
        page = self.blank()
        self.plot(page)
        plot = plots.read(page, "Curves")
        self.assert_same(plot["lines"]["one"], list(zip(self.STEPS, self.ALONG)), plot)
        self.assert_same(plot["lines"]["two"], [(1, 1), (5, 2), (10, -1)], plot)
        self.assert_same([plot["best"]["one"]], [(1000, 0.0072)], plot)
        self.assertEqual(plot["colours"], {"one": "#123456", "two": "#654321"})

    def test_log_axes(self):
        page = self.blank()
        self.plot(page, x={"scale": "log"}, y={"scale": "log"})
        plot = plots.read(page, "Curves")
        self.assertEqual((plot["x"]["scale"], plot["y"]["scale"]), ("log", "log"))
        self.assert_same(plot["lines"]["one"], list(zip(self.STEPS, self.ALONG)), plot)
        self.assert_same(plot["lines"]["two"], [(1, 1), (5, 2)], plot)  # -1 has no place there
        self.assertIn("1 values that are not above 0", page.text("figure.chart"))

    def test_ticks_tell_values_apart(self):
        """Of a rate that hardly moves; of one that only 32-bit numbers move there is one value, in the middle."""
        for values, noise in (([0.001, 0.000999995, 0.00099998], False), ([0.001, 0.0010000000474974513, 0.0009999999], True)):
            for scale in ("linear", "log"):
                page = self.blank()
                series = [{"name": "rate", "xs": [1, 2, 3], "ys": values, "colour": "#123456"}]
                self.plot(page, series=series, y={"label": "rate", "scale": scale})
                said = page.js("[...document.querySelectorAll('.axis.y .tick text')].map(t => t.textContent)")
                self.assertEqual(len(said), len(set(said)), f"{scale}: {said}")
                self.assertGreater(len(said), 1)
                if noise:
                    self.assertTrue(all(len(word) < 8 for word in said), said)

    def test_smoothing(self):
        page = self.blank()
        self.plot(page, smoothing=0.8)
        plot = plots.read(page, "Curves")
        self.assert_same(plot["lines"]["one"], list(zip(self.STEPS, plots.smoothed(self.ALONG, 0.8))), plot)
        self.assertEqual(page.count("path.faint"), 2)

    def test_zoom_by_dragging_and_back(self):
        page = self.blank()
        self.plot(page)
        page.drag(".brush .overlay", (0.2, 0.5), (0.6, 0.5))
        low, high = plots.read(page, "Curves")["x"]["domain"]
        self.assertAlmostEqual(low, 1 + 0.2 * 999, delta=10)
        self.assertAlmostEqual(high, 1 + 0.6 * 999, delta=10)
        page.click(page.role("button", "Show all of Curves"))
        self.assertEqual(plots.read(page, "Curves")["x"]["domain"], [1, 1000])

    def test_values_under_the_pointer_and_by_keyboard(self):
        page = self.blank()
        self.plot(page)
        page.hover(".brush .overlay", (0.24, 0.5))
        page.wait("document.querySelector('.readout').innerText.includes('250')")
        self.assertIn("0.02100", page.text(".readout"))
        page.js("document.querySelector('svg.plot').focus()")
        page.press("ArrowRight", "Home")
        page.press("Escape", "ArrowRight", "ArrowRight")
        self.assertIn("step 2", page.text(".readout"))

    def test_what_is_kept_is_what_is_shown(self):
        page = self.blank()
        self.plot(page)
        page.click(page.role("button", "Save Curves as CSV"))
        name, data = self.browser.downloaded()
        lines = data.decode().split("\r\n")
        self.assertEqual((name, lines[0], lines[1], lines[9]), ("Curves.csv", "series,step,loss", "one,1,3", "two,1,1"))
        self.assertEqual(lines[10], "two,2,")
        shown = page.js("document.querySelector('path.line').getAttribute('d')")
        page.click(page.role("button", "Save Curves as SVG"))
        name, data = self.browser.downloaded()
        self.assertEqual(name, "Curves.svg")
        self.assertIn(shown.encode(), data)
        self.assertNotIn(b"var(", data)  # stands alone
        kept = self.browser.page()
        self.tabs.append(kept)
        path = os.path.join(self.browser.downloads, "kept.svg")
        with open(path, "wb") as file:
            file.write(data)
        kept.allow("file://")
        kept.open("file://" + path)
        self.assertEqual(kept.js("document.documentElement.querySelector('path.line').getAttribute('d')"), shown)
        kept.close()
        self.tabs.remove(kept)
        os.unlink(path)

    def test_redrawn_a_thousand_times_it_does_not_grow(self):
        page = self.blank()
        self.plot(page)
        redraw = "(() => { for (let i = 0; i < %d; i++) plot.update({smoothing: i %% 2 / 2}); })()"
        page.js(redraw % 100)
        before = page.metrics()
        page.js(redraw % 1000, 60)
        after = page.metrics()
        self.assertLess(after["nodes"], before["nodes"] + 200, (before, after))
        self.assertLess(after["listeners"], before["listeners"] + 50, (before, after))
        self.assertLess(after["heap"], before["heap"] + (1 << 20), (before, after))


class Table(Parts):
    def table(self, page, count=10000):
        page.js(f"""(() => {{
            window.asked = []; window.chosen = new Set(); window.sorted = [];
            window.t = table_.table({{label: 'Things', selected: chosen,
                columns: [{{key: 'name', title: 'Name', kind: 'text', cell: r => r.name}},
                          {{key: 'size', title: 'Size', kind: 'number', cell: r => r.size}}],
                fetch: async (offset, limit) => {{ asked.push([offset, limit]);
                    return {{total: {count}, rows: Array.from({{length: Math.min(limit, {count} - offset)}},
                        (_, i) => ({{name: 'thing ' + (offset + i), size: offset + i}}))}}; }},
                rowKey: r => r.name, rowLabel: r => r.name, href: r => '/#' + r.size, sort: {{key: 'name', order: 'asc'}},
                onSort: s => sorted.push([s.key, s.order])}});
            t.element.style.height = '500px';
            document.getElementById('main').append(t.element);
            return t.reload(); }})()""")
        page.wait("document.querySelector('tbody tr td a')")

    def test_ten_thousand_rows_cost_what_thirty_do(self):
        page = self.blank()
        self.table(page)
        self.assertLess(page.count("tbody tr"), 60)
        self.assertEqual(page.js("document.querySelector('table.grid').getAttribute('aria-rowcount')"), "10001")
        page.js("t.element.scrollTop = t.element.scrollHeight / 2; 0")
        page.wait("[...document.querySelectorAll('tbody a')].some(a => a.innerText === 'thing 5000')")
        page.js("t.element.scrollTop = t.element.scrollHeight; 0")
        page.wait("[...document.querySelectorAll('tbody a')].some(a => a.innerText === 'thing 9999')")
        self.assertLess(page.count("tbody tr"), 60)
        self.assertLess(len(page.js("asked")), 8)

    def test_by_keyboard(self):
        page = self.blank()
        self.table(page)
        page.js("document.querySelector('#main [tabindex=\"0\"]').focus()")
        page.press("ArrowDown", "ArrowDown", "Space")
        self.assertEqual(page.js("[...chosen]"), ["thing 2"])
        page.press("End")
        page.wait("document.querySelector('tr.active')?.innerText.includes('thing 9999')")
        page.press("Home", "Enter")
        page.wait("location.hash === '#0'")

    def test_sorting_by_its_heads(self):
        page = self.blank()
        self.table(page)
        head = page.role("button", "Size")
        page.click(head)
        page.click(page.role("button", "Size"))
        self.assertEqual(page.js("sorted"), [["size", "desc"], ["size", "asc"]])
        self.assertEqual(page.js("document.querySelector('th[aria-sort]').innerText.trim().slice(0, 4)"), "Size")


class Elements(Parts):
    NASTY = ["<img src=x onerror=alert(1)>", "</script><script>alert(1)</script>", "\" onclick=\"alert(1)", "&lt;b&gt;", "a\u202eb", "\U0001f642"]

    def test_text_stays_text(self):
        page = self.blank()
        for text in self.NASTY:
            page.js(f"""document.getElementById('main').replaceChildren(
                html_.h('p', {{title: {json.dumps(text)}, class: {json.dumps(text)}}}, {json.dumps(text)}, [[{json.dumps(text)}]]))""")
            self.assertEqual(page.js("""(() => { const p = document.querySelector('#main p');
                return [p.children.length, p.textContent, p.title, p.className, p.attributes.length]; })()"""), [0, text * 2, text, text, 2])

    def test_csv(self):
        page = self.blank()
        rows = [["a", 1, None, "x,y", 'say "so"', "two\nlines"], ["=1+1", "+1", "-x", "@a", "-3.5", -3.5]]
        self.assertEqual(page.js(f"html_.csv({json.dumps(rows)})"),
                         'a,1,,"x,y","say ""so""","two\nlines"\r\n' + "'=1+1,+1,'-x,'@a,-3.5,-3.5\r\n")

    def test_numbers(self):
        page = self.blank()
        for value, text in ((0, "0"), (1234567, "1,234,567"), (0.123456, "0.1235"), (-0.5, "\u22120.5000"), (1e-7, "1.000e-7"), (None, "\u2013"),
                            (math.pi * 1e8, "3.142e8")):
            self.assertEqual(page.js(f"format_.number({json.dumps(value)})").replace("\u2212", "-"), text.replace("\u2212", "-"))

    def test_which_way_a_metric_goes(self):
        page = self.blank()
        page.js("import('/static/names.js').then(m => { window.names_ = m; })")
        for smaller, names in ((True, ("valid.loss", "valid.bits_per_byte", "valid.words_ter", "valid.accuracy_task_loss", "valid_accuracy.cross_entropy")),
                               (False, ("valid.accuracy", "valid.filtered_mrr", "valid.f1_weighted", "valid.precision_for_defect_loss", "valid_loss.recall",
                                        "valid.error_kind_auc_roc", "train.gradient_norm.loss"))):
            for name in names:
                self.assertEqual(page.js(f"names_.isSmaller({json.dumps(name)})"), smaller, name)


if __name__ == "__main__":
    suite.main()
