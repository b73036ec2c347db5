"""Comparisons: what is drawn is what metrics.jsonl has; smoothing, axes, zoom, kept pictures; the diff of configurations."""
import csv
import io
import json
import os

import material
import plots
import served
import suite


SPLITS = ("valid", "train", "test")  # test has a point, of the best weights
SERIES = 2 * len(SPLITS)


class Compare(served.Served):
    RUNS = ("graph-1", "graph-2")

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.ids = {r["name"]: cls.serve.run(r["name"])["id"] for r in cls.serve.runs("&kind=run")}

    def compare(self, more="", **how):
        page = self.enter(f"/compare?runs={','.join(self.ids[r] for r in self.RUNS)}{more}", **how)
        return page

    def drawn(self, page, title, lines):
        """The plot of this title, once it has as many lines."""
        page.wait(f"[...document.querySelectorAll('figure.chart')].find(f => f.querySelector('h3').textContent === {json.dumps(title)})"
                  f"?.querySelectorAll('path.line[data-series]').length === {lines}", what=f"no plot '{title}' of {lines} lines: {plots.titles(page)}")
        self.still(page)
        return plots.read(page, title)

    def measured(self, run, split, name):
        lines = material.measured(os.path.join(material.shared(), "runs", run), split)
        return [(line["step"], line[name]) for line in lines if name in line]

    def assert_drawn(self, plot, name, smooth=None, positive=False):
        for run in self.RUNS:
            for split in SPLITS:
                points = self.measured(run, split, name)
                if smooth:
                    points = list(zip([x for x, _ in points], plots.smoothed([y for _, y in points], smooth)))
                if positive:
                    points = [p for p in points if p[0] > 0 and p[1] > 0]
                self.assertIsNone(plots.same(plot["lines"][f"{run} \u00b7 {split}"], points, plot), f"{run} {split} {name}")

    def test_points_are_those_of_metrics_jsonl(self):
        page = self.compare()
        for name in ("loss", "accuracy"):
            plot = self.drawn(page, name, SERIES)
            self.assert_drawn(plot, name)
            self.assertEqual(len(set(plot["colours"].values())), 2)
        best = max(self.measured("graph-2", "valid", "accuracy"), key=lambda p: (p[1], -p[0]))
        self.assertIsNone(plots.same([plot["best"]["graph-2 \u00b7 valid"]], [best], plot))

    def test_smoothing_and_log_axes(self):
        self.assert_drawn(self.drawn(self.compare("&smooth=0.7"), "loss", SERIES), "loss", smooth=0.7)
        plot = self.drawn(self.compare("&logx=1&logy=1"), "loss", SERIES)
        self.assertEqual((plot["x"]["scale"], plot["y"]["scale"]), ("log", "log"))
        self.assert_drawn(plot, "loss", positive=True)

    def test_zoom_is_in_the_address(self):
        page = self.compare()
        self.drawn(page, "loss", SERIES)
        page.drag(".card-place[data-card=loss] .brush .overlay", (0.25, 0.5), (0.5, 0.5))
        page.wait_address("zoom=")
        self.still(page)
        domain = plots.read(page, "loss")["x"]["domain"]
        self.assertLess(abs(domain[0] - (1 + 39 * 0.25)), 1)
        self.assertLess(abs(domain[1] - (1 + 39 * 0.5)), 1)
        other = self.page()
        other.open(page.url)
        shown = self.drawn(other, "loss", SERIES)["x"]["domain"]
        self.assertLess(max(abs(a - b) for a, b in zip(shown, domain)), 0.01)

    def test_a_run_is_hidden_and_comes_back(self):
        page = self.compare()
        self.drawn(page, "loss", SERIES)
        page.click(page.role("checkbox", "Show graph-1"))
        self.assertEqual(set(self.drawn(page, "loss", SERIES // 2)["lines"]),
                         {f"graph-2 \u00b7 {split}" for split in SPLITS})
        page.click(page.role("checkbox", "Show graph-1"))
        self.drawn(page, "loss", SERIES)

    def test_csv_and_svg_are_what_is_shown(self):
        page = self.compare()
        self.drawn(page, "loss", SERIES)
        page.click(page.role("button", "Save loss as CSV"))
        _, data = self.browser.downloaded()
        rows = list(csv.reader(io.StringIO(data.decode())))[1:]
        for run in self.RUNS:
            for split in SPLITS:
                kept = [(float(x), float(y)) for name, x, y in rows if name == f"{run} \u00b7 {split}"]
                self.assertEqual(kept, self.measured(run, split, "loss"))
        shown = page.js("[...document.querySelectorAll('.card-place[data-card=loss] path.line[data-series]')].map(p => p.getAttribute('d'))")
        page.click(page.role("button", "Save loss as SVG"))
        _, data = self.browser.downloaded()
        for path in shown:
            self.assertIn(path.encode(), data)

    def test_the_diff_of_configurations(self):
        page = self.compare("&tab=config")
        page.wait("document.querySelector('#main table')")
        text = page.text("#main table")
        self.assertIn("optimizer.learning_rate", text)
        self.assertIn("runtime.seed", text)
        self.assertNotIn("trainer.epochs", text)  # the same in both

    def test_a_run_that_is_no_more_takes_nothing_with_it(self):
        for tab, there in (("config", "document.querySelector('#main table')?.innerText.includes('optimizer.learning_rate')"),
                           ("system", "document.querySelectorAll('#main figure.chart').length === 4")):
            page = self.enter(f"/compare?runs={','.join(self.ids[r] for r in self.RUNS)},0123456789abcdef&tab={tab}")
            page.allow(r"\b404\b")
            page.wait(there, what=f"{tab} is not shown: {page.text('#main')}")
            self.still(page)
            self.assertIn("1 of the runs asked for is no more", page.text("#main"))
            self.assertNotIn("could not be asked", page.text("#main"))

    def test_final_metrics(self):
        page = self.compare("&tab=metrics&values=last")
        page.wait("document.querySelector('#main table tbody tr')")
        last = self.measured("graph-1", "valid", "accuracy")[-1][1]
        self.assertIn(f"{last:.4g}", page.text("#main table tbody tr"))

    def test_markup_in_a_name(self):
        page = self.enter(f"/compare?runs={self.ids[material.MARKUP]},{self.ids['graph-1']}")
        self.drawn(page, "loss", SERIES)
        self.assertIn(material.MARKUP, page.js("document.getElementById('main').textContent"))
        self.assertEqual(page.count("#main img, #main figure b"), 0)

    def test_on_a_phone(self):
        page = self.compare(phone=True, dark=True)
        self.drawn(page, "loss", SERIES)
        self.assertLessEqual(page.js("document.documentElement.scrollWidth"), 390)


if __name__ == "__main__":
    suite.main()
