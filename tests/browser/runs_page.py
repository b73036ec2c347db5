"""The table of runs and experiments: what stands there, search, filters, order, columns, keyboard, addresses, CSV, tags."""
import csv
import io
import json
import os
import re

import material
import served
import server
import suite

ROWS = "[...document.querySelectorAll('table.grid tbody tr[data-index]')]"
NAMES = ROWS + ".map(r => r.querySelector('a')?.textContent)"
HEADS = "[...document.querySelectorAll('table.grid thead th')].map(t => t.innerText.replace(/[\u2191\u2193]/g, '').trim())"
ALL = {"graph-1", "graph-2", "graph-10", "reverse", material.MARKUP, "search"}


def cells(page, head):
    """The texts below a heading, top to bottom."""
    return page.js(f"""(() => {{ const i = {HEADS}.indexOf({json.dumps(head)});
        return {ROWS}.map(r => r.cells[i]?.innerText.trim()); }})()""")


class Runs(served.Served):
    def table(self, path="/", **how):
        page = self.enter(path, **how)
        page.wait(f"{ROWS}.length > 0")
        return page

    def names(self, page, want):
        """Those rows and no others, in this order where `want` is a list."""
        page.wait(f"(names => {'names' if isinstance(want, list) else 'names.sort()'}.join('|') === "
                  f"{json.dumps('|'.join(want if isinstance(want, list) else sorted(want)))})({NAMES})",
                  what=f"the rows are not {want}")

    def test_all_are_there_and_names_are_text(self):
        page = self.table()
        self.names(page, ALL)
        self.assertEqual(page.count("tbody img, tbody b, tbody i"), 0)
        self.assertEqual(page.title(), "Runs \u2013 Regimen")

    def test_search(self):
        page = self.table()
        page.type("input[type=search]", "seed 1")
        self.names(page, {"graph-1", "graph-10"})
        page.wait_address("q=seed")
        page.type("input[type=search]", "no such run")
        page.wait("document.querySelector('.empty').innerText.includes('Nothing matches')")
        page.click(page.role("button", "Show all runs"))
        self.names(page, ALL)

    def test_filter(self):
        page = self.table()
        page.click(page.role("button", "Add a filter"))
        page.type(page.role("combobox", "Key"), "config.optimizer.learning_rate")
        page.select("form select", ">=")
        page.type(page.role("combobox", "Value"), "0.01")
        page.press("Enter")
        self.names(page, {"graph-1", "graph-2", "graph-10"})
        page.wait_address("where=")
        page.click(page.role("button", re.compile("^Take away the filter")))
        self.names(page, ALL)

    def test_order(self):
        page = self.table("/?kind=run")
        page.click(page.role("button", "Name"))
        self.names(page, sorted(ALL - {"search"}, key=lambda n: (n.startswith("graph") or n == "reverse", n.startswith("reverse"), int(re.findall(r"\d+|$", n)[0] or 0))))
        page.click(page.role("button", "Best"))
        best = sorted((r["best"]["value"] for r in self.serve.runs("&kind=run")), reverse=True)
        page.wait(f"[...document.querySelectorAll('th[aria-sort=descending]')].some(t => t.innerText.startsWith('Best'))")
        self.still(page)
        self.assertEqual([float(re.search(r"[\d.]+$", text)[0]) for text in cells(page, "Best")], [round(b, 4) for b in best])
        page.wait_address("sort=best")

    def test_columns(self):
        page = self.table("/?kind=run&q=seed")
        page.click(page.role("button", "Columns"))
        page.type("section.columns input[type=search]", "learning_rate")
        page.click(page.role("checkbox", re.compile(r"^config\.optimizer\.learning_rate")))
        page.wait(f"{HEADS}.includes('optimizer.learning_rate')")
        self.still(page)
        shown = dict(zip(cells(page, "Name"), cells(page, "optimizer.learning_rate")))
        self.assertEqual({name: float(value) for name, value in shown.items()}, {"graph-1": 0.01, "graph-2": 0.03, "graph-10": 0.01})
        page.click(page.role("button", "Take Model away"))
        page.wait(f"!{HEADS}.includes('Model')")
        page.wait_address("config.optimizer.learning_rate")

    def test_address_has_the_whole_state(self):
        page = self.table()
        page.type("input[type=search]", "graph")
        self.names(page, ALL - {"reverse", "search"})
        page.click(page.role("button", "Name"))
        page.click(page.role("button", "Name"))
        page.click(page.role("checkbox", "Select graph-2"))
        page.wait_address("selected=")
        self.still(page)
        state = f"[{NAMES}, {HEADS}, document.querySelector('input[type=search]').value, document.querySelector('.chosen-bar').innerText]"
        other = self.page()
        other.open(page.url)
        other.wait(f"{ROWS}.length > 0")
        self.still(other)
        self.assertEqual(other.js(state), page.js(state))

    def test_back_from_a_run(self):
        page = self.table("/?q=seed&sort=name&order=asc")
        self.names(page, ["graph-1", "graph-2", "graph-10"])
        page.click(f"table.grid tbody tr[data-index='1'] a")
        page.wait("location.pathname.startsWith('/runs/')")
        page.wait("document.querySelector('main h1')?.innerText.includes('graph-2')")
        page.back()
        self.names(page, ["graph-1", "graph-2", "graph-10"])
        page.forward()
        page.wait("document.querySelector('main h1')?.innerText.includes('graph-2')")

    def test_by_keyboard_alone(self):
        page = self.table("/?q=seed&sort=name&order=asc")
        self.names(page, ["graph-1", "graph-2", "graph-10"])
        page.press("/")
        self.assertEqual(page.focused()["tag"], "input")
        for _ in range(40):
            page.press("Tab")
            if page.focused() and page.focused()["tag"] == "table":
                break
        self.assertEqual(page.focused()["tag"], "table")
        page.press("Space", "ArrowDown", "ArrowDown", "Space")
        page.wait("document.querySelector('.chosen-bar').innerText.includes('2 selected')")
        page.press("ArrowUp", "Enter")
        page.wait("document.querySelector('main h1')?.innerText.includes('graph-2')")

    def test_two_are_compared(self):
        page = self.table("/?q=seed&sort=name&order=asc")
        page.click(page.role("checkbox", "Select graph-1"))
        page.click(page.role("checkbox", "Select graph-10"))
        page.click(page.role("link", "Compare 2 runs"))
        page.wait("location.pathname === '/compare'")
        ids = {r["name"]: r["id"] for r in self.serve.runs()}
        self.assertEqual(page.js("new URLSearchParams(location.search).get('runs')"), f"{ids['graph-1']},{ids['graph-10']}")

    def test_csv_has_what_is_shown(self):
        page = self.table("/?q=seed&kind=run&sort=name&order=asc&columns=state,metric.valid.accuracy")
        self.names(page, ["graph-1", "graph-2", "graph-10"])
        page.click(page.role("button", "CSV"))
        name, data = self.browser.downloaded()
        rows = list(csv.DictReader(io.StringIO(data.decode())))
        self.assertEqual(name, "runs.csv")
        self.assertEqual([r["name"] for r in rows], ["graph-1", "graph-2", "graph-10"])
        for row in rows:
            last = material.measured(os.path.join(material.shared(), "runs", row["name"]), "valid")[-1]
            self.assertEqual(float(row["metric.valid.accuracy"]), last["accuracy"])
            self.assertEqual(row["state"], "finished")

    def test_on_a_phone(self):
        page = self.table(phone=True)
        self.assertLessEqual(page.js("document.documentElement.scrollWidth"), 390)
        page.click("table.grid tbody tr[data-index='0'] a")
        page.wait("location.pathname !== '/'")

    def test_dark_and_light(self):
        light = "(c => c.match(/[\\d.]+/g).slice(0, 3).reduce((a, b) => a + +b, 0) / 765)([document.body, document.documentElement].map(e => getComputedStyle(e).backgroundColor).find(c => !/, 0\\)$/.test(c)))"
        self.assertLess(self.table(dark=True).js(light), 0.25)
        page = self.table(dark=False)
        self.assertGreater(page.js(light), 0.75)
        page.click(page.role("button", "Dark or light"))
        page.wait(light + " < 0.25")
        page.reload()
        page.wait(light + " < 0.25", what="the choice is not kept")


class Door(served.Served):
    """Who has no token sees nothing."""

    def test_no_token_no_data(self):
        self.browser.forget()
        page = self.page()
        page.allow(r"\b401\b")
        page.open(self.serve.where + "/")
        page.pause(0.5)
        self.assertNotIn("graph-1", page.text())
        self.assertEqual(page.js("fetch('/api/v1/runs').then(r => r.status)"), 401)
        page.allow(r"\b40[13]\b")
        page.open(self.serve.address[:-4] + "0000")
        page.pause(0.3)
        self.assertEqual(page.js("fetch('/api/v1/runs').then(r => r.status)"), 401)

    def test_the_token_goes_into_a_cookie_that_scripts_cannot_read(self):
        page = self.enter()
        self.assertNotIn("token", page.url)
        self.assertEqual(page.js("document.cookie"), "")
        cookie = [c for c in self.browser.cookies() if c["domain"] == "127.0.0.1"][-1]
        self.assertTrue(cookie["httpOnly"])
        self.assertEqual(cookie["sameSite"], "Strict")
        self.assertNotEqual(cookie["value"], self.serve.address.split("token=")[1])

    def test_two_servers_in_one_browser(self):
        """A browser keeps cookies by host, not by port: the second server's must not put out the first's."""
        page = self.enter()
        with server.Serve(suite.REGIMEN, *self.folders()) as other:
            second = self.page()
            second.open(other.address)
            second.wait(f"{ROWS}.length > 0")
            page.reload()
            page.wait(f"{ROWS}.length > 0")
            second.close()
            self.tabs.remove(second)

    def test_another_page_gets_nothing(self):
        """What a page of another origin asks is refused, cookie or not."""
        self.enter()
        with server.Serve(suite.REGIMEN, *self.folders()) as other:
            page = self.page()
            page.allow("CORS", "content policy", "Content Security Policy", "violates", "Failed to load", "net::")
            page.open(other.address)
            told = page.js(f"fetch('{self.serve.where}/api/v1/runs', {{credentials: 'include'}}).then(r => r.status, () => 'refused')")
            self.assertEqual(told, "refused")
            page.close()
            self.tabs.remove(page)


class Tags(served.Own):
    @classmethod
    def prepare(cls):
        cls.first = served.copy_run(cls.home, "graph-1")
        served.copy_run(cls.home, "graph-2")

    def test_tags_are_written_and_found(self):
        page = self.enter("/?q=seed&sort=name&order=asc")
        page.wait(f"{NAMES}.includes('graph-1')")
        page.click(page.role("button", "Change the tags of graph-1"))
        page.press(*"good", ",", "Space", *"<b>odd", "Enter")
        page.wait("[...document.querySelectorAll('.tags .chip')].map(c => c.innerText).join('|') === 'good|<b>odd'")
        with open(os.path.join(self.first, "tags")) as file:
            self.assertEqual(file.read().split("\n"), ["good", "<b>odd", ""])
        page.type("input[type=search]", "good")
        page.wait(f"{ROWS}.length === 1")

    def test_damage_is_told(self):
        path = served.copy_run(self.home, "graph-2", "broken")
        material.write(os.path.join(path, "config.yaml"), "model: [")
        page = self.enter()
        page.wait(f"{NAMES}.includes('broken')")
        page.wait(f"{ROWS}.find(r => r.innerText.includes('broken')).innerText.includes('damaged')")


class ReadOnly(served.Served):
    options = ("--read-only",)

    def test_it_is_told_and_nothing_is_offered(self):
        page = self.enter()
        page.wait(f"{ROWS}.length > 0")
        self.assertIn("read only", page.text("#top"))
        self.assertEqual(page.count(".tags .edit"), 0)
        page.allow(r"\b403\b")
        run = self.serve.runs("&kind=run")[0]["id"]
        self.assertEqual(page.js(f"""fetch('/api/v1/runs/{run}', {{method: 'PATCH', headers: {{'Content-Type': 'application/json'}},
            body: '{{"tags": ["x"]}}'}}).then(r => r.status)"""), 403)


if __name__ == "__main__":
    suite.main()
