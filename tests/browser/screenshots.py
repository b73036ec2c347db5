#!/usr/bin/env python3
"""docs/page_*.png, from real runs: python3 tests/browser/screenshots.py build/regimen (REGIMEN_DATA: with cora and digits)."""
import os
import pathlib
import subprocess
import sys
import tempfile
import time

from browser import Browser
from server import Serve

ROOT = pathlib.Path(__file__).resolve().parents[2]
RUNS = [  # name, experiment, what is set
    ("gcn", "cora_gcn", []), ("gcn-slow", "cora_gcn", ["optimizer.learning_rate=3e-3"]), ("gcn-wide", "cora_gcn", ["model.hidden=[128]"]),
    ("gat", "cora_gat", []), ("appnp", "cora_appnp", []), ("sage", "cora_sage", []), ("digits-cnn", "digits_cnn", ["trainer.epochs=6"]),
    ("digits-mlp", "digits_mlp", []), ("reverse", "reverse", []),
    *((f"gcn-seed-{seed}", "cora_gcn", [f"runtime.seed={seed}"]) for seed in (2, 3, 4)),
    *((f"gcn-wide-seed-{seed}", "cora_gcn", ["model.hidden=[128]", f"runtime.seed={seed}"]) for seed in (2, 3)),
]


def make(regimen, data, folder):
    """Runs of several kinds, and a search."""
    for name, experiment, changes in RUNS:
        if experiment.startswith(("cora", "digits")):
            changes = [f"data.path={data}/{experiment.split('_')[0]}", *changes]
        subprocess.run([regimen, "run", experiment, "-q", "--run-dir", f"runs/{name}", *(w for c in changes for w in ("--set", c))],
                       cwd=folder, check=True, stdout=subprocess.DEVNULL)
    os.symlink(data, folder / "data")
    subprocess.run([regimen, "experiment", "run", "digits_search"], cwd=folder, check=True, stdout=subprocess.DEVNULL,
                   stderr=subprocess.DEVNULL)


def main():
    regimen, data = os.path.realpath(sys.argv[1]), os.environ["REGIMEN_DATA"]
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        make(regimen, os.path.realpath(data), folder)
        with Serve(regimen, "runs", "experiments", cwd=folder) as serve, Browser() as browser:
            ids = {row["name"]: row["id"] for row in serve.runs()}
            page = browser.page()
            page.open(serve.address)
            compared = ",".join(ids[name] for name in ("gcn", "gcn-slow", "gat", "appnp"))
            for name, path in [
                ("runs", "/?kind=run&where=task+%3D+node_classification"), ("groups", "/?kind=run&group=seeds&q=gcn"), ("compare", f"/compare?runs={compared}"), ("run", f"/runs/{ids['digits-cnn']}?tab=confusion"),
                ("experiment", "/experiments/1/1"),
            ]:
                page.open(serve.where + path)
                time.sleep(3)  # lines are drawn when they come into sight
                page.screenshot(str(ROOT / "docs" / f"page_{name}.png"))
            page.check()


main()
