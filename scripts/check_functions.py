"""No function of src/ is longer than 60 lines, its braces included, no test than 80: a test may be one table.
Prints the longest with -v.

What clang-format wrote is read as it stands: a body begins with a brace in the first column and ends
with one.
"""
import pathlib
import re
import subprocess
import sys


def limit(path):
    return 80 if path.endswith("_test.c") else 60


def functions(path):
    """(lines, name, line number) of each function of a file."""
    start, head = None, ""
    for number, line in enumerate(path.read_text().splitlines(), 1):
        if line == "{":
            start = number
        elif line.startswith("}") and start:
            name = re.findall(r"(\w+)\(", head)
            yield number - start + 1, name[0] if name else "?", start
            start, head = None, ""
        elif start is None:
            head = line if line[:1].isalpha() else head + line


def main():
    listed = subprocess.run(["git", "ls-files", "src/*.c", "src/*.h", "src/*.cc"], check=True, capture_output=True, text=True)
    found = []
    for name in listed.stdout.split():
        if pathlib.Path(name).exists():
            found += [(*f, name) for f in functions(pathlib.Path(name))]
    found.sort(reverse=True)
    if "-v" in sys.argv:
        print(f"{len(found)} functions, median {found[len(found) // 2][0]} lines, longest:")
    for lines, name, number, path in found[: 10 if "-v" in sys.argv else 0]:
        print(f"  {lines:3} {name} ({path}:{number})")
    bad = [f for f in found if f[0] > limit(f[3])]
    for lines, name, number, path in bad:
        print(f"functions: {path}:{number}: {name} has {lines} lines, more than {limit(path)}", file=sys.stderr)
    return 1 if bad else 0


sys.exit(main())
