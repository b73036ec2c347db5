"""Every public function is explained where it is declared.

A comment above a declaration holds for it and for those that follow without an empty line or another
comment; a comment behind a declaration is its own and is added to that. rgm_<object>_retain,
_release, _clear and _close need none: what they do is the same everywhere.
  - every function has a comment;
  - of one that returns rgm_status it names the errors: "Errors:", a code RGM_ERR_..., or "never fails";
  - of one that makes or gives a value or a tensor it says the shape: brackets, or in words ("scalar", "rows",
    "element-wise", "like x");
  - of one named in COLLECTIVE it says "Collective": every rank of a run has to call it.
And what pages of docs/ name is there: rgm_ names, and files in backticks. (decisions.md also tells of what went.)
Headers that regimen.h sends readers to are there too.
With names as arguments: only these headers. -v: also how many functions each header has.
"""
import pathlib
import re
import sys

OURS = r"\b(?:rgmi?|RGM)_\w+"
FOLDER = pathlib.Path("include/regimen")
SAME_EVERYWHERE = re.compile(r"rgm_\w+_(retain|release|clear|close)$")
# They hand on the status that they are given.
PASSES_ON = re.compile(r"rgm_error_\w+$|rgm_second_$")
# What all-reduces or saves once there are ranks: to be called by each of them, in the same order.
COLLECTIVE = {
    "rgm_comm_barrier",
    "rgm_comm_broadcast",
    "rgm_comm_decide",
    "rgm_comm_gather",
    "rgm_comm_mail_begin",
    "rgm_comm_open",
    "rgm_comm_sum",
    "rgm_comm_sum_begin",
    "rgm_controller_evaluate",
    "rgm_controller_run",
    "rgm_controller_save",
    "rgm_controller_train",
    "rgm_controller_train_and_evaluate",
    "rgm_part_connect",
    "rgm_part_values",
    "rgm_run",
    "rgm_run_complete",
    "rgm_run_evaluate",
    "rgm_run_open",
    "rgm_run_save",
    "rgm_run_train",
    "rgm_trainer_eval_end",
    "rgm_trainer_eval_step",
    "rgm_trainer_evaluate",
    "rgm_trainer_train",
    "rgm_trainer_train_step",
}


def declarations(text):
    """(name, declaration, comment, line) of each function that a header declares or defines inline."""
    found, group, tail, depth, at, collected, start = [], "", None, 0, 0, "", 0
    tokens = re.compile(
        r"(?P<block>/\*.*?\*/)|(?P<directive>^[ \t]*#(?:[^\n\\]|\\.|\\\n)*)|(?P<blank>\n[ \t]*(?=\n))"
        r'|(?P<extern>extern "C" \{)|(?P<end>[;{}])|(?P<other>"(?:[^"\\]|\\.)*"|.|\n)',
        re.M | re.S,
    )
    for match in tokens.finditer(text):
        kind, piece = match.lastgroup, match.group()
        line = text.count("\n", 0, match.start()) + 1
        if kind in ("directive", "extern"):
            group, collected = ("" if kind == "extern" else group), ""
        elif kind == "block":
            behind = text[: match.start()].rsplit("\n", 1)[-1].strip() != ""
            if depth == 0 and behind and found and not collected.strip():
                found[-1][2] += "\n" + piece
            elif depth == 0 and not collected.strip():
                group = piece
        elif kind == "blank":
            if depth == 0 and not collected.strip():
                group = ""
        elif kind == "end":
            if piece == "{":
                depth += 1
                if depth == 1:
                    start_of_body = collected
            elif piece == "}":
                depth -= 1
                if depth == 0 and re.search(r"\)\s*$", start_of_body):
                    add(found, start_of_body, group, start)
                    collected = ""
            elif depth == 0:
                add(found, collected, group, start)
                collected = ""
        elif depth == 0:
            if not collected.strip():
                start = line
            collected += piece
    return found


def add(found, declaration, comment, line):
    declaration = " ".join(declaration.split())
    match = re.match(r"(?!typedef\b)[\w\s*]*?\b(rgm_\w+) ?\(", declaration)
    if match and not declaration.startswith(("typedef", "struct", "enum", "union", "extern const")):
        found.append([match[1], declaration, comment, line])

def faults(name, declaration, comment):
    result, arguments = declaration.split(name, 1)
    if SAME_EVERYWHERE.match(name) and "rgm_status" not in result:
        return
    if not comment.strip():
        yield "has no comment"
        return
    if re.search(r"\brgm_status\b", result) and not PASSES_ON.match(name):
        if not re.search(r"Errors?:|RGM_ERR_|never fails", comment):
            yield "says no errors"
    makes = "rgm_value *" in result or "rgm_tensor *" in result or "rgm_tensor **" in arguments
    if makes and not re.search(r"\[|[Ss]hape|[Ss]calar|\blike\b|\brows?\b|\baxis\b|[Ee]lement", comment):
        yield "says no shape"
    if name in COLLECTIVE and "Collective" not in comment:
        yield "says not that it is collective"


def words_of(folders):
    """Every name with our prefix in the sources."""
    found = set()
    for path in (p for folder in folders for p in pathlib.Path(folder).rglob("*")):
        if path.suffix in (".c", ".h", ".cc", ".cmake", ".txt", ".sh", ".py"):
            found |= set(re.findall(OURS, path.read_text(errors="replace")))
    return found


def missing_in_pages():
    """(page, line, name) of each name and file that a page tells of and that is not there."""
    known = words_of(("include", "src", "examples", "tests", "bench", "fuzz", "cmake"))
    pages = [p for p in pathlib.Path("docs").glob("*.md") if p.name != "decisions.md"]
    for page in sorted([*pages, *pathlib.Path(".").glob("[CRS]*.md")]):
        for number, line in enumerate(page.read_text().splitlines(), 1) if page.name != "CHANGES.md" else ():
            for name in re.findall(OURS, line):
                if name not in known and not name.endswith("_"):
                    yield page, number, name
            for name in re.findall(r"`((?:src|include|tests|scripts|examples|cmake|configs|fuzz|docs)/[\w./-]+)`", line):
                if not pathlib.Path(name).exists():
                    yield page, number, name


def missing_in_guide():
    """(line, header) of each that regimen.h sends readers to and that is not there."""
    guide = FOLDER / "regimen.h"
    for number, line in enumerate(guide.read_text().splitlines() if guide.exists() else (), 1):
        for name in re.findall(r"[a-z_]+\.h\b", line):
            if not (FOLDER / name).exists():
                yield number, name


def main():
    names = [a for a in sys.argv[1:] if a != "-v"]
    bad = total = 0
    for path in sorted(FOLDER.glob("*.h")):
        if names and path.stem not in names:
            continue
        functions = declarations(path.read_text())
        here = 0
        for name, declaration, comment, line in functions:
            for fault in faults(name, declaration, comment):
                here += 1
                print(f"docs: {path}:{line}: {name} {fault}", file=sys.stderr)
        if "-v" in sys.argv:
            print(f"{path.stem:<12} {len(functions):4} functions {here:4} faults")
        bad, total = bad + here, total + len(functions)
    for page, line, name in () if names else missing_in_pages():
        bad += 1
        print(f"docs: {page}:{line}: there is no {name}", file=sys.stderr)
    for line, name in () if names else missing_in_guide():
        bad += 1
        print(f"docs: {FOLDER}/regimen.h:{line}: there is no {name}", file=sys.stderr)
    if "-v" in sys.argv:
        print(f"{'':<12} {total:4} functions {bad:4} faults")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
