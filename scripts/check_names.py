"""Every name means one thing, and no header is longer than a reader's patience.

  - no two files of src/ have one base name in two layers, tests and private headers too;
  - no public name (function, type, macro) is declared by two headers;
  - no private name (rgmi_) is used in two layers: whoever greps for it finds one thing;
  - no header is longer than 700 lines.
-v: also the longest headers. Reads the sources alone, below the current folder.
"""
import collections
import pathlib
import re
import sys

import check_docs

LONGEST = 700
PUBLIC = pathlib.Path("include/regimen")
SOURCES = pathlib.Path("src")


def without_comments(text):
    return re.sub(r"/\*.*?\*/|//[^\n]*", " ", text, flags=re.S)


def sources():
    """Every C and C++ file of a layer; what tests share (src/testing) is none."""
    paths = [p for p in SOURCES.rglob("*") if p.suffix in (".c", ".h", ".cc")]
    return sorted(p for p in paths if p.parent.name != "testing")


def files_of_one_name():
    """(base name, paths) of those that two layers have; x.c and x.h of one layer belong together."""
    found = collections.defaultdict(list)
    for path in sources():
        found[path.stem].append(path)
    return [(name, paths) for name, paths in sorted(found.items()) if len({p.parts[1] for p in paths}) > 1]


def public_names(text):
    """Functions, types and macros that a header declares; a struct that is only named beforehand is not declared."""
    names = [name for name, *_ in check_docs.declarations(text)]
    bare = without_comments(text)
    names += re.findall(r"^[ \t]*#[ \t]*define[ \t]+(\w+)", bare, re.M)
    names += re.findall(r"^\}\s*(\w+);", bare, re.M)
    names += re.findall(r"^(?:struct|union|enum)\s+(\w+)\s*\{", bare, re.M)
    return set(names)


def public_names_declared_twice():
    found = collections.defaultdict(list)
    for path in sorted(PUBLIC.glob("*.h")):
        for name in public_names(path.read_text()):
            found[name].append(path)
    return [(name, paths) for name, paths in sorted(found.items()) if len(paths) > 1]


def private_names_of_two_layers():
    found = collections.defaultdict(dict)
    for path in sources():
        for name in re.findall(r"\b(?:rgmi|RGMI)_\w+", without_comments(path.read_text())):
            found[name].setdefault(path.parts[1], path)
    return [(name, list(where.values())) for name, where in sorted(found.items()) if len(where) > 1]


def headers():
    """(lines, path) of every header, the longest first."""
    paths = [*PUBLIC.glob("*.h"), *SOURCES.rglob("*.h")]
    return sorted(((len(p.read_text().splitlines()), p) for p in paths), reverse=True)


def main():
    bad = []
    for what, twice in (
        ("files", files_of_one_name()),
        ("public names", public_names_declared_twice()),
        ("private names", private_names_of_two_layers()),
    ):
        bad += [f"{name}: one name, {len(paths)} {what}: {' '.join(map(str, paths))}" for name, paths in twice]
    lengths = headers()
    bad += [f"{path} has {lines} lines, more than {LONGEST}" for lines, path in lengths if lines > LONGEST]
    if "-v" in sys.argv:
        for lines, path in lengths[:10]:
            print(f"{lines:5} {path}")
    for line in bad:
        print("names:", line, file=sys.stderr)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
