"""Every page, looked at by axe-core in the light, in the dark and on a phone: nothing serious, nothing critical.

RGM_AXE names axe.min.js (tests/oracle/page_oracle.sh finds it; scripts/oracles.sh installs it).
"""
import os
import sys

import browser
import material
import server
import suite

LOOKS = {"light": {"dark": False}, "dark": {"dark": True}, "phone": {"phone": True, "dark": False},
         "phone, dark": {"phone": True, "dark": True}}


def findings(page, source, within=None):
    """What axe objects to: [(impact, rule, help, [elements])]; it may add nothing to the page but its script."""
    page.js(source + "; 0")
    found = page.js(f"""axe.run({within or 'document'}, {{resultTypes: ['violations', 'incomplete']}})
        .then(r => r.violations.map(v => [v.impact, v.id, v.help,
            v.nodes.slice(0, 4).map(n => n.target.join(' ') + ': ' + n.html.slice(0, 160) + ' ' + (n.failureSummary ?? ''))]))""", 60)
    return found


class Axe(suite.Case):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        with open(os.environ["RGM_AXE"]) as file:
            cls.axe = file.read()
        folder = material.shared()
        cls.serve = server.Serve(suite.REGIMEN, os.path.join(folder, "runs"), os.path.join(folder, "experiments"))
        cls.addClassCleanup(cls.serve.end)
        cls.serve.run("graph-1")
        runs = {r["name"]: r["id"] for r in cls.serve.runs("&kind=run")}
        both = f"{runs['graph-1']},{runs['graph-2']}"
        cls.pages = {"runs": "/", "groups": "/?group=seeds&kind=run&show=cards&card=line:valid.loss,train.loss&card=bars:best&card=scatter:config.optimizer.learning_rate,best&card=parallel:config.optimizer.learning_rate,best", "compare": f"/compare?runs={both}", "run": f"/runs/{runs['graph-1']}", "thresholds": f"/runs/{runs['graph-1']}?tab=scores", "explanations": f"/runs/{runs['graph-1']}?tab=explanations",
                     "translation": f"/runs/{runs['reverse']}", "experiment": "/experiments/1/1", "cluster": "/cluster",
                     "nothing": "/runs/0123456789abcdef"}
        cls.ready = "document.querySelector('#main h1, #main h2, #main table') && document.querySelector('#top nav a')"

    def look(self, name):
        for look, how in LOOKS.items():
            with self.subTest(look):
                page = self.page(**how)
                page.open(self.serve.address)
                page.allow(r"/api/v1/runs/0123456789abcdef")
                page.open(self.serve.where + self.pages[name])
                page.wait(self.ready)
                page.until(lambda: not any(r["end"] is None and r["type"] != "EventSource" for r in page.requests.values()),
                           "requests do not end")
                found = findings(page, self.axe)
                bad = [f for f in found if f[0] in ("serious", "critical")]
                self.assertFalse(bad, "\n".join(f"{impact} {rule}: {text}\n    " + "\n    ".join(where)
                                                for impact, rule, text, where in bad))

    def test_axe_finds_what_is_wrong(self):
        """A page that is bad on purpose: the checker works here."""
        page = self.page()
        page.open(self.serve.address)
        page.wait("document.querySelector('#main table tbody tr a')")
        page.js("""(() => { const i = document.createElement('img'); i.src = '/static/icon.svg';
                   const f = document.createElement('input'); document.getElementById('main').append(i, f); })()""")
        rules = {rule for impact, rule, _, _ in findings(page, self.axe) if impact in ("serious", "critical")}
        self.assertLessEqual({"image-alt", "label"}, rules)


for _name in ("runs", "groups", "compare", "run", "thresholds", "explanations", "translation", "experiment", "cluster", "nothing"):
    setattr(Axe, f"test_{_name}", lambda self, name=_name: self.look(name))

if __name__ == "__main__":
    if not os.environ.get("RGM_AXE"):
        print("SKIPPED: RGM_AXE names no axe.min.js (scripts/oracles.sh installs it)")
        sys.exit(browser.SKIPPED)
    suite.main()
