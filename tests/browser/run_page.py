"""The page of a run: its curves while it trains, its log, each tab, and what a page costs that is left open."""
import json
import os
import pathlib

import material
import plots
import served
import server
import suite


class Run(served.Served):
    def at(self, name, tab, **how):
        run = self.serve.run(name)["id"]
        return self.enter(f"/runs/{run}?tab={tab}", **how)

    def test_curves_are_those_of_metrics_jsonl(self):
        page = self.at("reverse", "curves")
        page.wait("document.querySelectorAll('figure.chart path.line').length > 3")
        self.still(page)
        for name in ("loss", "exact_match"):
            plot = plots.read(page, name)
            for split, line in plot["lines"].items():
                points = [(m["step"], m[name]) for m in material.measured(os.path.join(material.shared(), "runs", "reverse"), split) if name in m]
                self.assertIsNone(plots.same(line, points, plot), f"{name} {split}")

    def test_each_tab_opens(self):
        for run in ("graph-1", "reverse", material.MARKUP):
            page = self.at(run, "curves")
            page.wait("document.querySelectorAll('[role=tab]').length > 3")
            self.still(page)
            self.assertEqual(page.text("h1"), run)
            for key in page.js("[...document.querySelectorAll('[role=tab]')].map(t => t.dataset.key)"):
                page.click(f"[role=tab][data-key={key}]")
                page.wait(f"document.querySelector('[role=tab][aria-selected=true]').dataset.key === '{key}'")
                self.still(page)
                self.assertEqual(page.count(".trouble"), 0, f"{run} {key}: {page.text('.trouble')}")
                page.wait_address(f"tab={key}")
            self.assertEqual(page.count("#main img, h1 b, .about i"), 0)
            page.check()

    def test_tabs_by_keyboard(self):
        page = self.at("graph-1", "curves")
        page.wait("document.querySelectorAll('[role=tab]').length > 3")
        page.js("document.querySelector('[role=tab][aria-selected=true]').focus()")
        page.press("ArrowRight")
        page.wait("document.querySelector('[role=tab][aria-selected=true]').dataset.key === 'log'")
        page.wait_address("tab=log")
        page.back()
        page.wait("document.querySelector('[role=tab][aria-selected=true]').dataset.key === 'curves'")

    def test_config_with_where_each_value_is_from(self):
        page = self.at("graph-2", "config")
        page.wait("document.querySelector('[role=tabpanel]').innerText.includes('learning_rate')")
        self.assertIn("0.03", page.text("[role=tabpanel]"))

    def test_thresholds_are_those_that_are_kept(self):
        page = self.at("graph-1", "scores")
        page.wait("document.querySelectorAll('figure.chart path.line').length === 8")
        self.still(page)
        kept = [json.loads(line) for line in pathlib.Path(material.shared(), "runs", "graph-1", "score_curves.jsonl").read_text().splitlines()]
        curves = next(o for o in kept if o["split"] == "valid")["curves"]
        rows = page.js("[...document.querySelectorAll('[role=tabpanel] tbody tr')].map(r => [...r.cells].map(c => c.innerText))")
        self.assertEqual([(r[0], float(r[1]), float(r[2])) for r in rows], [(c["name"], round(c["roc_area"], 4), round(c["average_precision"], 4)) for c in curves])
        plot = plots.read(page, "ROC")
        for c in curves:
            points = [(p[1], p[2]) for p in c["points"]]
            self.assertLessEqual(len(points), 200)
            self.assertIsNone(plots.same(plot["lines"][c["name"]], points, plot), c["name"])

    def test_an_explanation_is_drawn_and_told(self):
        folder = pathlib.Path(material.shared(), "runs", "graph-1", "explanations")
        page = self.at("graph-1", "explanations")
        page.wait("document.querySelector('[role=tabpanel] line.explained-edge')")
        self.still(page)
        choices = page.js("[...document.querySelector('[role=tabpanel] select').options].map(o => o.value)")
        self.assertEqual(choices, sorted(f.stem for f in folder.iterdir()))
        for name in choices:
            kept = json.loads((folder / f"{name}.json").read_text())
            page.js(f"(() => {{ const s = document.querySelector('[role=tabpanel] select'); s.value = {json.dumps(name)}; s.dispatchEvent(new Event('change')); }})()")
            page.wait_address(f"name={name}")
            page.wait(f"document.querySelectorAll('[role=tabpanel] line.explained-edge').length === {min(150, len(kept['edges']))}")
            page.wait(f"document.querySelector('[role=tabpanel] .facts').innerText.includes({json.dumps(kept['method'])})")
            drawn = page.js("[...document.querySelectorAll('line.explained-edge')].map(l => [l.dataset.edge, +l.dataset.score, +l.getAttribute('stroke-width'), [l.x1, l.y1, l.x2, l.y2].every(v => Number.isFinite(v.baseVal.value))])")
            most = max(abs(e["score"]) for e in kept["edges"])
            for (edge, score, width, placed), e in zip(drawn, kept["edges"]):
                self.assertEqual((edge, score, placed), (f"{e['from']}-{e['to']}", e["score"], True))
                self.assertAlmostEqual(width, 0.75 + 5.25 * abs(score) / most, 4)
            self.assertEqual(page.js("document.querySelectorAll('.bar-row').length"), min(25, len(kept["features"])))
            rows = page.js("[...document.querySelectorAll('[role=tabpanel] table[aria-label=Edges] tbody tr')].map(r => [...r.cells].slice(1, 3).map(c => c.innerText))")
            self.assertEqual(rows, [[kept["nodes"][e["from"]]["name"], kept["nodes"][e["to"]]["name"]] for e in kept["edges"]])
            told = page.text("[role=tabpanel] .told")
            self.assertEqual("Cut:" in told, kept["edge_total"] > len(kept["edges"]) or kept["feature_total"] > 25, told)

    def test_an_export_is_downloaded_as_it_is(self):
        page = self.at("graph-1", "exports")
        page.wait("document.querySelector('[role=tabpanel] a[download], [role=tabpanel] a[href*=exports]')")
        page.click("[role=tabpanel] a[href*=exports]")
        name, data = self.browser.downloaded()
        folder = os.path.join(material.shared(), "runs", "graph-1", "export")
        kept = [pathlib.Path(where, f).read_bytes() for where, _, files in os.walk(folder) for f in files]
        self.assertIn(data, kept, name)

    def test_on_a_phone(self):
        for tab in ("curves", "log", "config"):
            page = self.at("graph-1", tab, phone=True)
            page.wait("document.querySelector('[role=tabpanel]').innerText.length > 20")
            self.still(page)
            self.assertLessEqual(page.js("document.documentElement.scrollWidth"), 390, tab)


class Live(served.Own):
    """Runs that go on while they are looked at."""

    @classmethod
    def prepare(cls):
        cls.writer = material.Writer(os.path.join(cls.home, "written"))
        cls.addClassCleanup(cls.writer.close)
        for step in range(1, 6):
            cls.writer.line("train", step, loss=1 / step)
            cls.writer.line("valid", step, loss=2 / step)
        cls.writer.say("first line")
        cls.step = 5

    @classmethod
    def grow(cls):
        cls.step += 1
        cls.writer.line("train", cls.step, loss=1 / cls.step)
        cls.writer.line("valid", cls.step, loss=2 / cls.step)

    def test_a_training_run_moves(self):
        config = material.write(os.path.join(self.home, "reverse.yaml"), material.REVERSE.format(epochs=1000))
        folder = os.path.join(self.home, "training")
        with server.Process(suite.REGIMEN, "run", config, "--run-dir", folder, "-q") as training:
            training.until(lambda: os.path.exists(os.path.join(folder, "metrics.jsonl")), "metrics.jsonl")
            page = self.enter(f"/runs/{self.serve.run('training')['id']}")
            count = "document.querySelector('figure.chart path.line[data-series=train]')?.getAttribute('d').split('L').length ?? 0"
            page.wait(f"{count} > 1", 60)
            loads, before, step = page.loads, page.js(count), page.text(".second .facts")
            page.wait(f"{count} > {before} + 3", 60, what="the curve of a run that trains does not move")
            self.assertEqual(page.loads, loads)
            page.wait(f"document.querySelector('.second .facts').innerText !== {json.dumps(step)}")
            self.assertIn("running", page.text(".run-head"))
            training.end()
            page.wait("!document.querySelector('.run-head').innerText.includes('running')", 30, what="a run that was stopped still runs")

    def test_what_comes_late_for_an_earlier_step_is_drawn(self):
        """As test metrics do, which are those of the best weights."""
        page = self.enter(f"/runs/{self.serve.run('written')['id']}?tab=curves")
        page.wait("document.querySelector('path.line')")
        self.writer.line("test", 2, loss=0.75)
        page.wait("document.querySelector('figure.chart .legend')?.innerText.includes('test')", 60, what="a point of an earlier step is not drawn")
        plot = plots.read(page, "loss")
        self.assertIsNone(plots.same(plot["lines"]["test"], [(2, 0.75)], plot))

    def test_the_log_is_followed(self):
        page = self.enter(f"/runs/{self.serve.run('written')['id']}?tab=log")
        page.wait("document.querySelector('[role=tabpanel]').innerText.includes('first line')")
        self.writer.say("and <b>another</b>")
        page.wait("document.querySelector('[role=tabpanel]').innerText.includes('and <b>another</b>')", 30)
        self.assertEqual(page.loads, 2)

    def test_the_table_moves(self):
        page = self.enter("/?columns=step")
        row = "[...document.querySelectorAll('tbody tr')].find(r => r.innerText.includes('written'))"
        page.wait(f"{row}?.innerText.includes('{self.step}')")
        self.grow()
        page.wait(f"{row}?.innerText.includes('{self.step}')", 30)
        self.assertEqual(page.loads, 2)

    def test_two_hundred_updates_leave_nothing_behind(self):
        """Each as the notice of a change makes it: asked for and drawn again. The first fifty warm up."""
        page = self.enter(f"/runs/{self.serve.run('written')['id']}?tab=curves")
        page.wait("document.querySelector('path.line')")

        def update(times):
            for _ in range(times):
                before = len(page.asked("GET .*/api/v1/runs/"))
                self.grow()
                page.js("document.dispatchEvent(new Event('visibilitychange')), 0")
                page.until(lambda: len(page.asked("GET .*/api/v1/runs/")) > before, "a notice asks for nothing")
            self.still(page)

        update(50)
        before = page.metrics()
        update(200)
        after = page.metrics()
        self.assertEqual(page.js("document.querySelector('path.line[data-series=train]').getAttribute('d').split('L').length"), self.step)
        self.assertLess(after["nodes"], before["nodes"] + 100, (before, after))
        self.assertLess(after["listeners"], before["listeners"] + 20, (before, after))
        self.assertLess(after["heap"], before["heap"] + (600 << 10), (before, after))


if __name__ == "__main__":
    suite.main()
