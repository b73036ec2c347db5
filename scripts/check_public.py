"""Every public function is used, by something else than its own file and tests, or stands in a list with a reason.

usage: check_public.py [BUILD] [-v]       BUILD: a folder in which everything was built (default: build)

A use is a symbol that an object file of the library, the command, the examples, benches or fuzz targets
takes from another; of an inline function, its name in their sources. scripts/public_for_users.txt names what
stays for programs of users though nothing here calls it, one line each: `rgm_name   why`. A line is refused
whose function is gone, or is used by now. -v prints how many there are, header by header.
"""
import collections
import json
import pathlib
import re
import subprocess
import sys

import check_docs

BODY = r"^[ \t]*#[ \t]*define(?:[^\n\\]|\\.|\\\n)*|^\{.*?^\}"  # of a macro or an inline function
KEPT = pathlib.Path("scripts/public_for_users.txt")


def is_test(path):
    """Of a source, or of the object file that was made of it."""
    return re.search(r"_test\.c(\.o)?$|_test\.dir/|^tests/|/testing/", path) is not None


def declared():
    """{function: header}"""
    return {
        name: path.name
        for path in sorted(pathlib.Path("include/regimen").glob("*.h"))
        for name, *_ in check_docs.declarations(path.read_text())
    }


def objects(build):
    """Every object file that the build folder makes, tests apart."""
    commands = [entry["command"] for entry in json.loads((build / "compile_commands.json").read_text())]
    paths = [match[1] for match in (re.search(r" -o (\S+\.o)", command) for command in commands) if match]
    paths = [build / path for path in paths if not is_test(path)]
    missing = [path for path in paths if not path.exists()]
    if missing or not paths:
        sys.exit(f"public: there is no {(missing or ['object file'])[0]} in {build}: build everything first")
    return sorted(map(str, paths))


def used(build):
    """(names that an object file takes from another, names that object files define)"""
    taken, defined, paths = set(), set(), objects(build)
    for at in range(0, len(paths), 500):
        command = ["nm", "-A", "-P", *paths[at : at + 500]]
        listing = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        for name, kind in re.findall(r"^.*: (rgm_\w+) ([A-Z])", listing, re.M):
            (taken if kind == "U" else defined).add(name)
    return taken, defined


def words():
    """Every rgm_ word of sources that are no tests, comments apart."""
    found = set()
    for folder in ("src", "examples", "bench", "fuzz"):
        for path in pathlib.Path(folder).rglob("*"):
            if path.suffix in (".c", ".h", ".cc") and not is_test(str(path)):
                found |= set(re.findall(r"\brgm_\w+", re.sub(r"/\*.*?\*/", "", path.read_text(), flags=re.S)))
    return found


def unused(build):
    """[(function, header)] that nothing uses but its own file and tests."""
    taken, defined = used(build)
    said = words()
    for path in pathlib.Path("include/regimen").glob("*.h"):  # what macros and inline functions call
        bodies = "\n".join(re.findall(BODY, path.read_text(), re.M | re.S))
        said |= set(re.findall(r"\brgm_\w+", bodies)) - defined
    return [(name, header) for name, header in declared().items() if name not in (taken if name in defined else said)]


def kept():
    """{function: why}"""
    lines = KEPT.read_text().splitlines() if KEPT.exists() else []
    pairs = [line.split(None, 1) for line in lines if line.strip() and not line.startswith("#")]
    return {pair[0]: pair[1].strip() if len(pair) > 1 else "" for pair in pairs}


def main():
    names = [a for a in sys.argv[1:] if a != "-v"]
    alone, known, stays = dict(unused(pathlib.Path(names[0] if names else "build"))), declared(), kept()
    bad = []
    for name, header in alone.items():
        if name not in stays:
            bad.append(f"{header}: {name} is used by nothing but its own file and tests: make it private, or give {KEPT} a line")
    for name, why in stays.items():
        if name not in known:
            bad.append(f"{KEPT}: {name} is in no header")
        elif name not in alone:
            bad.append(f"{KEPT}: {name} is used by now: its line can go")
        elif not why:
            bad.append(f"{KEPT}: {name} has no reason")
    if "-v" in sys.argv:
        for header, count in sorted(collections.Counter(alone.values()).items()):
            print(f"{header:<24} {count:4}")
        print(f"{len(known)} public functions, {len(alone)} unused here, {len(stays)} of them stay for users")
    for line in bad:
        print("public:", line, file=sys.stderr)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
