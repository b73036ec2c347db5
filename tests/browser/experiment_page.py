"""Experiments at a real master: watched, paused, forked with an edited file, killed, continued, labelled, deleted."""
import os
import re

import material
import served
import server
import suite

STATE = "document.querySelector('.experiment-head .state')?.innerText"


class Steered(served.Own):
    @classmethod
    def prepare(cls):
        cls.folder = os.path.join(cls.home, "experiments")
        os.mkdir(cls.folder)
        cls.master = server.Master(suite.REGIMEN, cls.folder)
        cls.addClassCleanup(cls.master.end)
        cls.short = material.search(cls.home, "short.yaml", searcher="random", trials=2, length=4, more="")
        cls.long = material.search(cls.home, "long.yaml", searcher="random", trials=40, length=100000, more=", max_concurrent_trials: 2")

    def create(self, file, state=None):
        number = self.master.create(file)
        if state:
            self.master.until(lambda: self.master.state(number) == state, f"{state} experiment", 60)
        return number

    def at(self, number, more="", **how):
        page = self.enter(f"/experiments/1/{number}{more}", **how)
        page.allow(r"/experiments/\d+/search$")  # one that ends before it is asked for its plan has none: 409
        page.wait(f"{STATE}")
        return page

    def becomes(self, page, state):
        page.wait(f"{STATE} === '{state}'", 60, what=f"the page does not tell {state}")

    def confirm(self, page, name):
        page.click(page.role("button", name, within="dialog"))
        page.wait("!document.querySelector('dialog')", what=f"the dialog stays: {page.text('dialog')}")

    def test_pause_takes_effect_and_activate(self):
        number = self.create(self.long)
        page = self.at(number)
        page.wait("+document.querySelector('.experiment-head .facts').innerText.match(/batches\\s+([\\d,]+)/i)?.[1].replaceAll(',', '') > 0", 60,
                  what="a search that runs does not move")
        page.click(page.role("button", "Pause"))
        self.becomes(page, "PAUSED")
        self.assertEqual(self.master.state(number), "PAUSED")
        self.master.until(lambda: self.master.describe(number)["running"] == 0, "end of its trials", 60)
        batches = self.master.describe(number)["batches"]
        page.pause(1)
        self.assertEqual(self.master.describe(number)["batches"], batches)
        page.click(page.role("button", "Activate"))
        self.becomes(page, "ACTIVE")
        self.master.until(lambda: self.master.describe(number)["batches"] > batches, "progress", 60)
        loads = page.loads
        page.click(page.role("button", "Kill"))
        self.assertIn("ended at once", page.text("dialog"))
        self.confirm(page, "Kill")
        page.wait(f"{STATE}.includes('CANCELED')", 60)
        self.assertEqual(self.master.state(number), "CANCELED")
        self.assertEqual(page.loads, loads)

    def test_a_fork_with_an_edited_file_runs(self):
        number = self.create(self.short, "COMPLETED")
        page = self.at(number)
        page.click(page.role("button", "Fork\u2026"))
        area = page.role("textbox", "Experiment file")
        text = page.call(area, "e => e.value")
        self.assertIn("max_trials: 2", text)
        page.paste(area, text.replace("max_trials: 2", "max_trials: 2\n  max_trails: 3"))
        page.click(page.role("button", "Start", within="dialog"))
        page.allow(r"\b422\b")
        page.wait("document.querySelector('dialog .mistakes')?.innerText.includes('max_trails')", what=f"a mistake is not told: {page.text('dialog')}")
        page.paste(area, text.replace("max_trials: 2", "max_trials: 3"))
        page.click(page.role("button", "Start", within="dialog"))
        page.wait(f"location.pathname !== '/experiments/1/{number}'", what=f"there is no fork: {page.text('dialog')}")
        self.becomes(page, "COMPLETED")
        fork = int(page.url.split("/")[-1].split("?")[0])
        made = self.master.describe(fork)
        self.assertEqual((made["state"], made["trials"], made["parent_id"]), ("COMPLETED", 3, number))

    def test_continue(self):
        number = self.create(self.short, "COMPLETED")
        page = self.at(number)
        page.click(page.role("button", "Continue a trial\u2026"))
        page.click(page.role("button", "Start", within="dialog"))
        page.wait(f"location.pathname !== '/experiments/1/{number}'", what=f"nothing continues: {page.text('dialog')}")
        self.becomes(page, "COMPLETED")
        made = self.master.describe(int(page.url.split("/")[-1].split("?")[0]))
        self.assertEqual(made["trials"], 1)

    def test_what_a_trial_has_done_and_its_note(self):
        number = self.create(self.short, "COMPLETED")
        page = self.at(number)
        page.click(page.role("tab", "Trials"))
        page.click(page.role("button", "Details of trial 1"))
        page.wait("document.querySelector('dialog .trial-parts table')")
        trial = [t for t in self.serve.get(f"/api/v1/masters/1/experiments/{number}/trials")["trials"] if t["number"] == 1][0]
        steps = self.serve.get(f"/api/v1/masters/1/trials/{trial['id']}/steps")["total"]
        self.assertIn(f"Workloads ({steps})", page.text("dialog"))
        page.type(page.role("textbox", "Note"), "<b>odd</b> one")
        page.click(page.role("button", "Save the note"))
        self.serve.until(lambda: self.serve.get(f"/api/v1/masters/1/trials/{trial['id']}")["note"] == "<b>odd</b> one", "note")
        page.click(page.role("button", "Close", within="dialog"))
        page.click(page.role("tab", "History"))
        page.wait("document.querySelector('[role=tabpanel]').innerText.includes('Nothing was changed')")

    def test_a_trial_that_was_renamed_is_found(self):
        number = self.create(self.short, "COMPLETED")
        runs = f"/api/v1/runs?kind=trial&experiment=1:{number}"
        self.serve.until(lambda: self.serve.get(runs)["total"] == 2, "run folders of two trials")
        ids = {r["trial"]: r["id"] for r in self.serve.get(runs)["rows"]}
        first, last = sorted(ids)
        self.serve.get(f"/api/v1/runs/{ids[last]}", "PATCH", {"title": f"warm restart {first}", "archived": True})
        page = self.at(number, "?tab=trials")
        page.wait("document.querySelectorAll('table.grid tbody tr[data-index] a').length === 2", what="a trial has no link")
        self.assertEqual(page.js("Object.fromEntries([...document.querySelectorAll('table.grid tbody tr[data-index] a')].map(a => [a.textContent, a.getAttribute('href')]))"),
                         {f"trial {n}": f"/runs/{one}" for n, one in ids.items()})

    def test_slots_are_drained_and_enabled(self):
        page = self.enter("/cluster")
        page.click(page.role("button", "Drain slot 1"))
        page.wait("document.querySelector('.slot.drained')")
        self.assertRegex(self.serve.get("/api/v1/masters/1/slots")["slots"][1]["state"], "^drain")
        page.click(page.role("button", "Enable slot 1"))
        page.wait("!document.querySelector('.slot.drained')")

    def test_labels(self):
        number = self.create(self.short, "COMPLETED")
        page = self.at(number)
        page.type(page.role("textbox", "New label"), "<b>good\n")
        page.wait("[...document.querySelectorAll('.labels .chip')].some(c => c.innerText.includes('<b>good'))")
        self.assertIn("<b>good", self.master.describe(number)["labels"])
        page.click(page.role("button", "Remove the label <b>good"))
        page.wait("![...document.querySelectorAll('.labels .chip')].some(c => c.innerText.includes('<b>good'))")
        self.assertNotIn("<b>good", self.master.describe(number)["labels"])

    def test_delete_tells_what_would_be_removed(self):
        number = self.create(self.short, "COMPLETED")
        folder = os.path.join(self.folder, str(number))
        self.assertTrue(os.path.isdir(folder))
        page = self.at(number)
        page.click(page.role("button", "Delete\u2026"))
        page.wait("document.querySelector('dialog')")
        told = page.text("dialog")
        self.assertIn(f"experiments/{number}", told)
        self.assertIn("2 trials", told)
        self.assertRegex(told, r"\d+ checkpoints, [\d.]+ [KM]?i?B|no checkpoint")
        page.click(page.role("button", "Cancel", within="dialog"))
        page.wait("!document.querySelector('dialog')")
        self.assertTrue(os.path.isdir(folder))
        page.click(page.role("button", "Delete\u2026"))
        page.allow(r"/experiments/\d+\b")  # asked for a last time when it is gone
        self.confirm(page, "Delete")
        page.wait("location.pathname === '/'")
        self.master.until(lambda: not os.path.exists(folder), "deletion")

    def test_each_tab_opens(self):
        number = self.create(self.short, "COMPLETED")
        for how in ({}, {"phone": True, "dark": True}):
            page = self.at(number, **how)
            for key in page.js("[...document.querySelectorAll('[role=tab]')].map(t => t.dataset.tab)"):
                page.click(f"[role=tab][data-tab={key}]")
                page.wait(f"document.querySelector('[role=tab][data-tab={key}]').getAttribute('aria-selected') === 'true'")
                self.still(page)
                page.wait("document.querySelector('[role=tabpanel]').innerText.length > 20", what=f"{key} stays empty")
                self.assertEqual(page.count("#main .trouble"), 0, f"{key}: {page.text('#main .trouble')}")
                if how:
                    self.assertLessEqual(page.js("document.documentElement.scrollWidth"), 390, key)
            page.check()

    def test_a_tab_that_is_chosen_again_while_it_loads_comes(self):
        """Without notices, the first of which would load it once more."""
        number = self.create(self.short, "COMPLETED")
        page = self.page()
        page.open(self.serve.address)
        page.allow("/api/v1/events")
        page.ask("Network.setBlockedURLs", urls=["*/api/v1/events*"])
        page.ask("Page.addScriptToEvaluateOnNewDocument", source="""
            new MutationObserver((_, me) => {
                const tab = document.querySelector('[role=tab][data-tab=overview][aria-selected=true]');
                if (tab) { me.disconnect(); window.again = true; tab.click(); }
            }).observe(document, {subtree: true, childList: true, attributes: true});""")
        page.allow(r"/experiments/\d+/search$")
        page.open(f"{self.serve.where}/experiments/1/{number}")
        page.wait("window.again")
        page.wait("document.querySelector('[role=tabpanel]').innerText.length > 20", what="the tab stays empty")

    def test_searches_of_one_name_archived_ones_and_failed_trials(self):
        first, second = self.create(self.short, "COMPLETED"), self.create(self.short, "COMPLETED")
        bad = material.write(os.path.join(self.home, "bad.yaml"), material.SEARCH.format(
            description="no room for its parts", searcher="grid", trials=2, length=4, more="")
            .replace("  model.hidden: {type: categorical, vals: [[4], [8], [16]]}\n", "  data.citation.nodes: {type: categorical, vals: [400, 20]}\n")
            .replace("  model.dropout: {type: double, minval: 0, maxval: 0.8}\n", "").replace("  optimizer.learning_rate: {type: log, base: 10, minval: -4, maxval: -1}\n", "")
            .replace(", max_trials: 2", "") + "max_restarts: 0\n")
        failed = self.master.create(bad)
        self.master.until(lambda: self.master.state(failed) in ("COMPLETED", "ERROR"), "end of a search with a bad trial", 60)
        self.master.ask("experiment", "archive", str(second))
        page = self.enter("/?kind=experiment")

        def row(number):
            return f"[...document.querySelectorAll('tbody tr')].find(r => r.innerText.includes('search {number}\\n') || r.innerText.includes('search {number} '))?.innerText"

        page.wait(f"{row(first)}?.includes('2 trials')")
        page.wait(f"{row(failed)}?.includes('1 failed')", what=f"a failed trial is not told: {page.text('tbody')}")
        self.assertFalse(page.js(f"{row(second)} ?? false"))
        page.click(page.role("checkbox", "Archived"))
        page.wait(f"{row(second)}?.includes('archived')", what="an archived search is not found")
        page.wait_address("archived=1")

    def test_the_cluster_shows_who_runs_and_waits(self):
        first, second = self.create(self.long), self.create(self.long)
        page = self.enter("/cluster")
        page.wait("document.querySelector('#main').innerText.includes('waits')", 60, what="no reason of waiting is told")
        for number in (first, second):
            self.master.ask("experiment", "kill", str(number))


class ReadOnly(served.Served):
    options = ("--read-only",)

    def test_nothing_is_steered(self):
        page = self.enter("/experiments/1/1")
        page.wait(f"{STATE} === 'COMPLETED'")
        self.assertFalse(page.roles("button", re.compile("Fork|Delete|Continue|Archive|Add label")))
        page.allow(r"\b403\b")
        for path in ("kill", "archive"):
            self.assertEqual(page.js(f"fetch('/api/v1/masters/1/experiments/1/{path}', {{method: 'POST', body: '{{}}', "
                                     "headers: {'Content-Type': 'application/json'}}).then(r => r.status)"), 403)


if __name__ == "__main__":
    suite.main()
