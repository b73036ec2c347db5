"""A test of pages behind a real server over the shared material, or over folders of the test's own."""
import os
import shutil
import tempfile

import material
import server
import suite


class Served(suite.Case):
    """serve: over the shared runs and searches, unless folders() says otherwise."""

    options = ()

    @classmethod
    def folders(cls):
        home = material.shared()
        return [os.path.join(home, "runs"), os.path.join(home, "experiments")]

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.serve = server.Serve(suite.REGIMEN, *cls.folders(), options=cls.options)
        cls.addClassCleanup(cls.serve.end)

    def enter(self, path="/", **how):
        """A tab that the server has let in, at this address."""
        page = self.page(**how)
        page.open(self.serve.address)
        if path != "/":
            page.open(self.serve.where + path)
        return page

    def still(self, page, seconds=0.3):
        """So long nothing was asked for."""
        def waiting():
            return [r["url"] for r in page.requests.values() if r["end"] is None and r["type"] != "EventSource"]

        page.until(lambda: not waiting() and not page.happened(seconds), f"the page does not come to rest: {waiting()}", 30)
        return page


class Own(Served):
    """Over folders that this class makes and changes: home is its own."""

    @classmethod
    def prepare(cls):
        """Fills cls.home."""

    @classmethod
    def folders(cls):
        return [cls.home]

    @classmethod
    def setUpClass(cls):
        cls.home = tempfile.mkdtemp(prefix="regimen-page-")
        cls.addClassCleanup(shutil.rmtree, cls.home, ignore_errors=True)
        cls.prepare()
        super().setUpClass()


def copy_run(home, name, to=None):
    """A run of the shared material, to be changed."""
    path = os.path.join(home, to or name)
    shutil.copytree(os.path.join(material.shared(), "runs", name), path)
    return path
