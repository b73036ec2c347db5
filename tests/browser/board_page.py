"""The table beside its cards: what lines, bands and bars show is what metrics.jsonl has; groups, expressions, saved views,
what is done to runs, and the door."""
import json
import os
import re
import statistics
import urllib.parse

import material
import plots
import served
import server
import suite

ROWS = "[...document.querySelectorAll('table.grid tbody tr[data-index]')]"
SEEDED = "description: {name}\nmodel: {{type: {model}, rate: {rate}}}\nruntime: {{seed: {seed}}}\n"
POINTS = 12


def curves_of(path):
    """{"valid.loss": [(step, value)]} of a run folder."""
    found = {}
    for line in material.measured(path):
        for name, value in line.items():
            if name not in ("split", "step", "epoch", "crc"):
                found.setdefault(f"{line['split']}.{name}", []).append((line["step"], value))
    return found


class Cards(served.Own):
    def board(self, query="", **how):
        page = self.enter("/?kind=run" + query, **how)
        page.wait(f"{ROWS}.length > 0")
        return page

    def drawn(self, page, title, lines):
        page.wait(f"[...document.querySelectorAll('figure.chart')].find(f => f.querySelector('h3').textContent === {json.dumps(title)})"
                  f"?.querySelectorAll('path.line[data-series]').length === {lines}", what=f"no card '{title}' of {lines} lines: {plots.titles(page)}")
        self.still(page)
        return plots.read(page, title)


class Board(Cards):
    """Runs of two configurations with three seeds each, and one by itself."""

    @classmethod
    def prepare(cls):
        cls.losses = {}
        for model, rate in (("gcn", 0.01), ("gat", 0.02)):
            for seed in (1, 2, 3):
                cls.write(f"{model}-seed-{seed}", SEEDED.format(name="seeded", model=model, rate=rate, seed=seed),
                          [(10 * i, seed / i + rate) for i in range(1, POINTS + 1)])
        cls.write("alone", SEEDED.format(name="by itself", model="mlp", rate=0.5, seed=9), [(10 * i, 5.0 / i) for i in range(1, 4)])

    @classmethod
    def write(cls, name, config, losses):
        writer = material.Writer(os.path.join(cls.home, name), config)
        for step, loss in losses:
            writer.line("train", step, loss=2 * loss + step / 100)
            writer.line("valid", step, loss=loss)
        writer.close()
        cls.losses[name] = losses

    def test_the_first_columns_are_whole_beside_cards(self):
        page = self.board("&show=both&sort=name&order=asc")
        right = page.js("document.querySelector('.scroller').getBoundingClientRect().right")
        best = page.js("[...document.querySelectorAll('table.grid th')].find(t => t.textContent.startsWith('Best')).getBoundingClientRect().right")
        self.assertLessEqual(best, right)

    def test_first_cards_draw_the_first_rows_in_their_own_colours(self):
        page = self.board("&sort=name&order=asc")
        plot = self.drawn(page, "loss", 14)
        for name in self.losses:
            curves = curves_of(os.path.join(self.home, name))
            for split in ("valid", "train"):
                self.assertIsNone(plots.same(plot["lines"][f"{name} \u00b7 {split}"], curves[f"{split}.loss"], plot), name)
        colours = page.js(f"Object.fromEntries({ROWS}.map(r => [r.querySelector('a').textContent, getComputedStyle(r.querySelector('.run-colour')).borderTopColor]))")
        strokes = page.js("Object.fromEntries([...document.querySelectorAll('path.line[data-series$=valid]')].map(p => [p.dataset.series.split(' ')[0], getComputedStyle(p).stroke]))")
        self.assertEqual(colours, strokes)
        self.assertGreater(len(set(colours.values())), 3)  # two of seven may meet: a colour follows from the id alone
        soft = page.js("[...document.querySelectorAll('path.line.soft')].every(p => p.dataset.series.endsWith('train')) && document.querySelectorAll('path.line.soft').length")
        self.assertEqual(soft, 7)
        again = self.board("&sort=name&order=desc")  # another order, another page: the same colours
        self.drawn(again, "loss", 14)
        self.assertEqual(again.js(f"Object.fromEntries({ROWS}.map(r => [r.querySelector('a').textContent, getComputedStyle(r.querySelector('.run-colour')).borderTopColor]))"), colours)

    def test_what_is_chosen_is_drawn_and_names_lose_their_common_beginning(self):
        page = self.board("&sort=name&order=asc")
        page.click(page.role("checkbox", "Select gcn-seed-1"))
        page.click(page.role("checkbox", "Select gcn-seed-3"))
        plot = self.drawn(page, "loss", 4)
        self.assertEqual(set(plot["lines"]), {f"\u2026{seed} \u00b7 {split}" for seed in (1, 3) for split in ("valid", "train")})
        self.assertEqual(page.js("[...document.querySelectorAll('.line-label')].map(t => t.firstChild.textContent).sort()"), ["\u20261", "\u20263"])

    def test_an_expression_is_computed_point_by_point(self):
        page = self.board("&sort=name&order=asc")
        self.drawn(page, "loss", 14)
        page.click(page.role("button", "Add a card"))
        page.type(".board form.sheet input", "train.loss / valid.loss")
        page.press("Enter")
        plot = self.drawn(page, "train.loss / valid.loss", 7)
        page.wait_address("card=")
        for name in self.losses:
            c = curves_of(os.path.join(self.home, name))
            self.assertIsNone(plots.same(plot["lines"][name], [(x, t / v) for (x, t), (_, v) in zip(c["train.loss"], c["valid.loss"])], plot), name)
        page.allow(r"\b400\b")
        page.click(page.role("button", "Add a card"))
        page.type(".board form.sheet input", "train.loss /")
        page.press("Enter")
        page.wait("document.querySelector('.board .wrong')?.innerText.includes('a metric or a number is missing')", what="nobody tells what is wrong")

    def test_seeds_are_one_group_with_mean_and_band(self):
        page = self.board("&group=seeds&sort=name&order=asc")
        page.wait(f"{ROWS}.length === 3")
        self.assertEqual(page.js(f"{ROWS}.map(r => r.querySelector('a').textContent)"), ["alone", "gat", "gcn"])
        best = page.js(f"""(() => {{ const i = [...document.querySelectorAll('thead th')].findIndex(t => t.innerText.startsWith('State')); return {ROWS}.map(r => r.cells[i].innerText.trim()); }})()""")
        self.assertTrue(all(text for text in best), best)
        plot = self.drawn(page, "loss", 6)
        for model in ("gcn", "gat"):
            runs = [dict(curves_of(os.path.join(self.home, f"{model}-seed-{seed}"))["valid.loss"]) for seed in (1, 2, 3)]
            line = plot["lines"][f"{model} \u00b7 valid"]
            at = {round(x): y for x, y in line}
            for step in runs[0]:
                self.assertLess(abs(at[step] - statistics.mean(r[step] for r in runs)), 0.02 * plots.unit(plot["y"]) + 1e-9, f"{model} at {step}")
        self.assertEqual(page.count("path.band"), 3)
        page.click(f"table.grid tbody tr[data-index='2'] a")
        page.wait_address("within=")
        page.wait(f"{ROWS}.length === 3 && {ROWS}.every(r => r.innerText.includes('gcn-seed'))")
        page.click(page.role("button", "Show all groups"))
        page.wait(f"{ROWS}.length === 3 && {ROWS}[0].innerText.includes('alone')")

    def test_bars_scatter_and_parallel_coordinates(self):
        page = self.board("&sort=name&order=asc&card=bars:metric.valid.loss&card=scatter:config.model.rate,metric.valid.loss&card=parallel:config.model.rate,config.model.type,metric.valid.loss")
        page.wait("document.querySelectorAll('.bar-row').length === 7")
        told = page.js("Object.fromEntries([...document.querySelectorAll('.bar-row')].map(g => [g.dataset.bar, +g.dataset.value]))")
        for name, losses in self.losses.items():
            self.assertAlmostEqual(told[name], losses[-1][1], 9)
        page.wait("document.querySelectorAll('circle.trial-dot').length === 7")
        page.wait("document.querySelectorAll('path.pc').length === 7")

    def test_search_takes_alternatives_and_patterns(self):
        page = self.board("&sort=name&order=asc")
        page.type("input[type=search]", "alone OR gat-seed-2")
        page.wait(f"{ROWS}.map(r => r.querySelector('a').textContent).join() === 'alone,gat-seed-2'")
        page.type("input[type=search]", "/^g.t-seed-[13]$/")
        page.wait(f"{ROWS}.map(r => r.querySelector('a').textContent).join() === 'gat-seed-1,gat-seed-3'")
        page.allow(r"\b400\b")
        page.type("input[type=search]", "/g(/")
        page.wait("document.querySelector('.tools .wrong')?.innerText.includes('regular expression')")

    def test_a_view_is_kept_by_name(self):
        page = self.board("&group=seeds&sort=name&order=asc&card=bars:metric.valid.loss")
        page.wait("document.querySelectorAll('.bar-row').length === 3")
        page.click(page.role("button", "Views"))
        page.type(page.role("textbox", "Name of the view"), "by seeds")
        page.press("Enter")
        page.wait_address("view=by+seeds")
        other = self.enter("/?view=by+seeds")
        other.wait("document.querySelectorAll('.bar-row').length === 3", what="the view does not show what was kept")
        self.assertTrue(os.path.exists(os.path.join(self.home, ".views.json")))
        other.click(other.role("button", "Views"))
        other.click(other.role("button", "Remove the view by seeds"))
        other.click(other.role("button", "Remove"))
        other.wait("document.querySelector('.menu-list').innerText.includes('No view')")

    def hold(self, page, method):
        """The next request about views waits until release() is called in the page."""
        page.js(f"""(window.release = null, window.plain ??= fetch, window.fetch = (path, how) =>
            how?.method === '{method}' && path === '/api/v1/views' && !window.release
                ? new Promise(done => {{ window.release = () => {{ const answer = window.plain(path, how); done(answer); return answer.then(() => 0); }}; }})
                : window.plain(path, how), 0)""")

    def save_as(self, page, name):
        page.js("document.querySelector('.menu .inline input').value = ''")
        page.type(page.role("textbox", "Name of the view"), name)
        page.press("Enter")

    def forget(self, page, name):
        page.js(f"""plain('/api/v1/views', {{method: 'POST', headers: {{'Content-Type': 'application/json'}}, body: JSON.stringify({{name: '{name}'}})}})
            .then(a => a.text())""")
        self.assertNotIn(name, self.kept(page))

    def kept(self, page):
        return page.js("plain('/api/v1/views').then(a => a.json()).then(a => Object.fromEntries(a.views.map(v => [v.name, v.query])))")

    def test_what_is_saved_later_stays(self):
        page = self.board("&sort=name&order=asc")
        self.hold(page, "POST")
        page.click(page.role("button", "Views"))
        self.save_as(page, "mine")
        page.wait("!!window.release")
        page.js("(s => { s.value = 'seeds'; s.dispatchEvent(new Event('change', {bubbles: true})); })([...document.querySelectorAll('select')].find(s => [...s.options].some(o => o.value === 'seeds')))")
        page.wait_address("group=seeds")
        self.save_as(page, "mine")
        page.js("window.release()")
        page.wait_address("view=mine")
        self.assertIn("group=seeds", self.kept(page)["mine"])
        self.forget(page, "mine")

    def test_a_view_that_answers_late_changes_no_later_page(self):
        page = self.board("&group=seeds&sort=name&order=asc")
        self.hold(page, "none")
        page.click(page.role("button", "Views"))
        self.save_as(page, "late")
        page.wait_address("view=late")
        self.hold(page, "GET")
        go = "(history.pushState(null, '', '%s'), dispatchEvent(new PopStateEvent('popstate')), 0)"
        page.js(go % "/?view=late")
        page.wait("!!window.release")
        page.js(go % "/?sort=name&order=asc")
        page.wait(f"{ROWS}.length === 7")
        page.js("window.release().then(() => new Promise(done => setTimeout(() => requestAnimationFrame(() => done(0)))))")
        self.assertEqual(page.js(f"{ROWS}.length"), 7)
        self.forget(page, "late")

    def test_on_a_phone_and_narrow(self):
        page = self.board(phone=True, dark=True)
        self.assertLessEqual(page.js("document.documentElement.scrollWidth"), 390)
        self.assertFalse(page.js("document.querySelector('.board').checkVisibility()"))
        page.click(page.role("button", "Cards"))
        page.wait("document.querySelector('path.line[data-series]')")
        self.assertLessEqual(page.js("document.documentElement.scrollWidth"), 390)

    def test_by_keyboard_alone(self):
        page = self.board("&sort=name&order=asc")
        self.drawn(page, "loss", 14)
        page.js("document.querySelector('.board .plot').focus()")
        page.press("ArrowRight")
        page.wait("document.querySelector('.board .readout:not([hidden])')")
        page.js("document.querySelector('.divider').focus()")
        before = page.js("document.querySelector('.board').clientWidth")
        page.press("ArrowRight")
        page.wait(f"document.querySelector('.board').clientWidth < {before}")


class Named(Cards):
    """Two seeds of a run whose set and classes have names that are no words of an expression."""

    METRICS = {"valid_de-en.bleu": 1, "valid.recall_for_two words": 2, "valid.recall_for_K\u00e4fer": 3}

    @classmethod
    def prepare(cls):
        for seed in (1, 2):
            writer = material.Writer(os.path.join(cls.home, f"named-seed-{seed}"), SEEDED.format(name="named", model="gcn", rate=0.1, seed=seed))
            for step in range(1, 6):
                for metric, times in cls.METRICS.items():
                    split, _, name = metric.partition(".")
                    writer.line(split, step, **{name: times * seed * step})
            writer.close()

    def test_cards_take_any_name_of_a_metric(self):
        cards = "".join(f"&card=line:{urllib.parse.quote(metric)}" for metric in self.METRICS)
        page = self.board("&sort=name&order=asc" + cards)
        for metric, times in self.METRICS.items():
            plot = self.drawn(page, metric, 2)
            for seed in (1, 2):
                self.assertIsNone(plots.same(plot["lines"][f"\u2026{seed}"], [(step, times * seed * step) for step in range(1, 6)], plot), metric)
        page = self.board("&group=seeds" + cards)
        for metric, times in self.METRICS.items():
            plot = self.drawn(page, metric, 1)
            self.assertIsNone(plots.same(list(plot["lines"].values())[0], [(step, times * 1.5 * step) for step in range(1, 6)], plot), metric)

    def test_a_name_in_braces_is_an_expression(self):
        for query, lines in (("", 2), ("&group=seeds", 1)):
            page = self.board(query + "&card=line:" + urllib.parse.quote("{valid_de-en.bleu}"))
            self.drawn(page, "{valid_de-en.bleu}", lines)


class Mixed(served.Served):
    """Four runs that chose by accuracy beside one that chose by exact_match."""

    def test_the_best_is_of_one_metric(self):
        page = self.enter("/?kind=run&sort=name&order=asc&card=bars:best&card=scatter:config.optimizer.learning_rate,best")
        page.wait("document.querySelectorAll('.bar-row').length === 4 && document.querySelectorAll('circle.trial-dot').length === 4")
        page.wait("document.querySelector('.board').innerText.split('1 have no best valid.accuracy').length === 3", what="nobody tells which is left out")
        self.assertIn("Best valid.accuracy", plots.titles(page))
        page.click(page.role("checkbox", "Select reverse"))
        page.wait("[...document.querySelectorAll('figure.chart h3')].some(t => t.textContent === 'Best valid.exact_match')")
        self.assertEqual(page.js("[...document.querySelectorAll('.bar-row')].map(g => g.dataset.bar)"), ["reverse"])


class Actions(served.Own):
    @classmethod
    def prepare(cls):
        for name in ("first", "second", "third"):
            served.copy_run(cls.home, "graph-1", name)

    def test_a_name_and_a_note(self):
        page = self.enter(f"/runs/{self.serve.run('first')['id']}")
        page.click(page.role("button", re.compile("^Name and note")))
        page.type("dialog input", "the <b>best</b>")
        page.type("dialog textarea", "# why\nbecause")
        page.click(page.role("button", "Save"))
        page.wait("document.querySelector('.run-head h1').textContent === 'the <b>best</b>'")
        page.wait("document.querySelector('.run-head .note').textContent.includes('because')")
        self.assertLessEqual(page.js("document.documentElement.scrollWidth"), 1280)
        with open(os.path.join(self.home, "first", "note.md")) as file:
            self.assertEqual(file.read(), "# why\nbecause")
        self.assertTrue(os.path.isdir(os.path.join(self.home, "first")))

    def test_runs_are_archived_and_deleted_together(self):
        page = self.enter("/?sort=name&order=asc&q=graph")
        page.allow(r"\b404\b")  # it stays open, and draws what is deleted below
        page.click(page.role("checkbox", "Select second"))
        page.click(page.role("checkbox", "Select third"))
        page.click(page.role("button", re.compile("^Actions")))
        page.click(page.role("button", "Archive 2"))
        page.wait(f"{ROWS}.length === 1")
        page = self.enter("/?archived=1&q=third&kind=run")
        page.allow(r"\b404\b")  # one that is drawn is gone for a moment
        page.wait(f"{ROWS}.length === 1")
        page.click(page.role("checkbox", "Select third"))
        page.click(page.role("button", re.compile("^Actions")))
        page.click(page.role("radio", "Delete"))
        page.click(page.role("button", "Delete 1"))
        page.wait(f"{ROWS}.length === 0")
        self.assertFalse(os.path.exists(os.path.join(self.home, "third")))

    def test_a_run_that_trains_is_stopped(self):
        config = material.write(os.path.join(self.home, "reverse.yaml"), material.REVERSE.format(epochs=100000))
        with server.Process(suite.REGIMEN, "run", config, "--run-dir", os.path.join(self.home, "training"), "-q") as training:
            training.until(lambda: os.path.exists(os.path.join(self.home, "training", "metrics.jsonl")), "metrics.jsonl")
            page = self.enter(f"/runs/{self.serve.run('training')['id']}")
            page.wait("document.querySelector('.run-head .state')?.innerText === 'running'")
            page.click(page.role("button", re.compile("^Actions")))
            page.click(page.role("radio", "Stop"))
            page.click(page.role("button", "Stop 1"))
            self.assertEqual(training.child.wait(60), 75)  # saved, and goes on with the same command


class Door(served.Own):
    @classmethod
    def prepare(cls):
        cls.token = material.write(os.path.join(cls.home, "token"), "0123456789abcdef" * 2 + "\n")
        os.chmod(cls.token, 0o600)
        os.mkdir(os.path.join(cls.home, "runs"))
        served.copy_run(os.path.join(cls.home, "runs"), "graph-1")
        cls.options = ("--token-file", cls.token)

    @classmethod
    def folders(cls):
        return [os.path.join(cls.home, "runs")]

    def test_the_token_of_the_file_is_typed(self):
        self.browser.forget()
        page = self.page()
        page.allow(r"\b401\b")
        page.open(self.serve.where + "/?q=graph")
        self.assertNotIn("graph-1", page.text())
        page.type("input[name=token]", "f" * 32)
        page.press("Enter")
        page.wait("document.querySelector('[role=alert]')?.innerText.includes('not this server')")
        page.type("input[name=token]", "0123456789abcdef" * 2)
        page.press("Enter")
        page.wait(f"{ROWS}.length === 1")
        self.assertNotIn("token", page.url)


if __name__ == "__main__":
    suite.main()
