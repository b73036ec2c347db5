"""What the tests reached, layer by layer: lines and branches of src/, tests left out, as gcov counted them.

    scripts/coverage.py build/coverage              the table, as it stands in docs/testing.md
    scripts/coverage.py build/coverage --missed     also the files with most lines that nothing reached

A header that several files take in, or that is made twice (float and double), counts once: a line is reached
where any of them reached it. Branches are those of the compiler at -O0, checks of every RGM_TRY with them.
"""
import collections
import json
import multiprocessing
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent


def read(data):
    """{(file, line): (count, branches taken or not)} of one object file."""
    out = subprocess.run(["gcov", "--json-format", "--stdout", "--branch-probabilities", str(data)], capture_output=True, text=True,
                         cwd=data.parent)
    found = {}
    for text in out.stdout.splitlines():
        for file in json.loads(text)["files"]:
            name = re.search(r"(?:^|/)(src/[a-z]+/[^/]+\.(?:c|h|cc))$", file["file"])
            if name is None or re.search(r"(_test|\.pb-c)\.[ch]$", name[1]) or name[1].startswith("src/testing/"):
                continue
            for line in file["lines"]:
                taken = [b["count"] > 0 for b in line["branches"] if not b["throw"]]
                merge(found, (name[1], line["line_number"]), line["count"], taken)
    return found


def merge(found, key, count, taken):
    have = found.get(key)
    if have is None:
        found[key] = [count, taken]
        return
    have[0] += count
    if len(taken) == len(have[1]):
        have[1] = [a or b for a, b in zip(have[1], taken)]
    elif len(taken) > len(have[1]):
        have[1] = taken


def percent(part, whole):
    return f"{100 * part / whole:5.1f} %" if whole else "      -"


def main():
    build = pathlib.Path(sys.argv[1]).resolve()
    data = [p for p in build.rglob("*.gcda") if re.search(r"/CMakeFiles/(rgm_[a-z]+|regimen_cli)\.dir/", str(p))]
    if not data:
        print(f"coverage: no counts in {build}: make coverage", file=sys.stderr)
        return 1
    found = {}
    with multiprocessing.Pool() as pool:
        for part in pool.imap_unordered(read, data, 8):
            for key, (count, taken) in part.items():
                merge(found, key, count, taken)
    layers = re.search(r"set\(RGM_LAYERS ([^)]*)\)", (ROOT / "cmake/layers.cmake").read_text())[1].split() + ["cli"]
    table = collections.defaultdict(lambda: [0, 0, 0, 0])
    files = collections.Counter()
    for (name, _), (count, taken) in found.items():
        for row in (table[name.split("/")[1]], table["all"]):
            row[0] += count > 0
            row[1] += 1
            row[2] += sum(taken)
            row[3] += len(taken)
        files[name] += count == 0
    print("| layer | lines | reached | branches | taken |\n|---|---|---|---|---|")
    for name in layers + ["all"]:
        a, b, c, d = table[name]
        print(f"| {name} | {b:,} | {percent(a, b)} | {d:,} | {percent(c, d)} |")
    if "--missed" in sys.argv:
        for name, missed in files.most_common(25):
            print(f"{missed:5} lines not reached in {name}")
    return 0


sys.exit(main())
