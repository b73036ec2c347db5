"""Prints what each layer holds, as a table: lines, files, headers, public functions.

usage: layer_figures.py [-v] [TREE [BUILD]]
  TREE    the sources, also those of another commit (default: these)
  BUILD   a folder in which all of TREE was built (default: TREE/build)

A second table has what makes sources hard to read: headers above 700 lines, circles of files inside a layer,
names that two layers use, and public functions that only their own file and tests use. -v names all of them.
"""
import os
import pathlib
import re
import subprocess
import sys

import check_docs
import check_layers
import check_names
import check_public


def lines(paths):
    return sum(len(path.read_text().splitlines()) for path in paths)


def layer_rows():
    """(layer, lines, files, lines of tests, files of tests, headers, lines of them, public functions)"""
    public = sorted(pathlib.Path("include/regimen").glob("*.h"))
    for layer in check_layers.allowed_edges():
        folder = pathlib.Path("src", layer)
        if not folder.is_dir():
            continue
        files = [p for p in folder.rglob("*") if p.suffix in (".c", ".h", ".cc", ".js", ".css", ".html", ".proto")]
        tests = [p for p in files if p.stem.endswith(("_test", "_check"))]
        files = [p for p in files if p not in tests]
        headers = [p for p in public if check_layers.layer_of(p.stem) == layer]
        functions = sum(len(check_docs.declarations(p.read_text())) for p in headers)
        yield layer, lines(files), len(files), lines(tests), len(tests), len(headers), lines(headers), functions


def uses(build, files):
    """{file: files of the same layer whose symbols it takes} of {object file: source}; ops name each other."""
    home, taken = {}, []
    listing = subprocess.run(["nm", "-A", "-P", *files], check=True, capture_output=True, text=True).stdout
    for path, name, kind in re.findall(r"^(.*): (\S+) ([A-Z])", listing, re.M):
        stem = pathlib.Path(files[path]).stem
        if kind == "U":
            taken.append((stem, name))
        else:
            home[name] = stem
    found = {}
    for stem, name in taken:
        other = home.get(name, stem)
        if other != stem and not (stem.startswith("op_") and other.startswith("op_")):
            found.setdefault(stem, set()).add(other)
    return found


def reached(graph, begin):
    seen, wanted = set(), list(graph.get(begin, ()))
    while wanted:
        name = wanted.pop()
        if name not in seen:
            seen.add(name)
            wanted += graph.get(name, ())
    return seen


def circles(build):
    """[(layer, files that use each other)]"""
    found = []
    for layer, files in sorted(check_layers.object_files(build).items()):
        graph = uses(build, {path: source for path, source in files.items() if pathlib.Path(path).exists()})
        reach = {stem: reached(graph, stem) for stem in graph}
        for circle in {frozenset(b for b in reach[a] if a in reach.get(b, ())) for a in graph if a in reach[a]}:
            found.append((layer, sorted(circle)))
    return sorted(found)


def print_table(rows):
    print("| layer | lines | files | lines of tests | files | public headers | lines | functions |")
    print("|---|---|---|---|---|---|---|---|")
    for name, *numbers in rows:
        print(f"| {name} | " + " | ".join(f"{n:,}" for n in numbers) + " |")
    print("| all | " + " | ".join(f"{sum(column):,}" for column in list(zip(*rows))[1:]) + " |")


def main():
    given = [a for a in sys.argv[1:] if a != "-v"]
    tree = pathlib.Path(given[0] if given else ".")
    build = pathlib.Path(given[1] if len(given) > 1 else tree / "build").resolve()
    os.chdir(tree)
    rows = list(layer_rows())
    print_table(rows)
    long = [(n, path) for n, path in check_names.headers() if n > check_names.LONGEST]
    knots = circles(build)
    files, private = check_names.files_of_one_name(), check_names.private_names_of_two_layers()
    alone = check_public.unused(build)
    print("\n| | how many | which |\n|---|---|---|")
    for what, found in (
        ("layers", [row[0] for row in rows]),
        (f"headers above {check_names.LONGEST} lines", [f"{path.name} {n:,}" for n, path in long]),
        ("circles of files", [f"{layer}: {' '.join(names)}" for layer, names in knots]),
        ("file names of two layers", [f"{name} ({len(paths)})" for name, paths in files]),
        ("private names of two layers", [name for name, _ in private]),
        ("public functions used by their own file and tests alone", [name for name, _ in alone]),
    ):
        shown = found if len(found) <= 40 or "-v" in sys.argv else [*found[:40], "..."]
        print(f"| {what} | {len(found)} | {', '.join(shown)} |")


if __name__ == "__main__":
    main()
