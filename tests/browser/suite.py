"""What the tests of the page share: a browser a file, a fresh tab a test, and an end in time.

    python3 tests/browser/runs_page.py build/regimen [-v] [-k NAME]

Where a test fails, a picture of each of its tabs is left in $RGM_PICTURES, if that names a folder. Exit 77: no browser here.
"""
import os
import re
import signal
import sys
import unittest

import browser

REGIMEN = None  # the command under test, absolute


class Case(unittest.TestCase):
    """browser: one for the class. A test whose page says something is wrong fails, whatever else it looked at."""

    longMessage = True

    @classmethod
    def setUpClass(cls):
        cls.browser = browser.Browser()
        cls.addClassCleanup(cls.browser.close)

    def page(self, **how):
        page = self.browser.page(**how)
        self.tabs.append(page)
        return page

    def setUp(self):
        self.tabs = []
        self.addCleanup(self.put_away)

    def put_away(self):
        result = self._outcome.result
        wrong = any(test is self for test, _ in result.failures + result.errors)
        for i, page in enumerate(self.tabs):
            folder = os.environ.get("RGM_PICTURES")
            if wrong and folder:
                name = re.sub(r"\W+", "_", self.id()) + (f"_{i}" if i else "")
                page.screenshot(os.path.join(folder, name + ".png"))
            page.close(check=False)

    def run(self, result=None):
        # Before the tabs go: what they said counts.
        method = getattr(self, self._testMethodName)

        def whole():
            try:
                method()
                for page in self.tabs:
                    page.check()
            except browser.Failure as failure:
                said = "".join(page.told() for page in self.tabs)
                raise browser.Failure(str(failure) + (said if said not in str(failure) else "")) from None

        setattr(self, self._testMethodName, whole)
        return super().run(result)


def out_of_time(number, frame):
    raise browser.Failure("the whole file is out of time")


def main(seconds=900):
    """The test file's: COMMAND first, the rest is unittest's."""
    global REGIMEN
    if len(sys.argv) < 2 or sys.argv[1].startswith("-"):
        sys.exit(f"usage: {sys.argv[0]} REGIMEN [-v] [-k NAME]")
    sys.modules["suite"] = sys.modules[__name__]
    REGIMEN = os.path.realpath(sys.argv.pop(1))
    if browser.program() is None:
        print("SKIPPED: there is no chromium here (scripts/deps.sh installs it)")
        sys.exit(browser.SKIPPED)
    signal.signal(signal.SIGALRM, out_of_time)
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(1))
    signal.alarm(seconds)
    unittest.main(module="__main__", argv=sys.argv)
