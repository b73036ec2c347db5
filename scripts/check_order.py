"""No call has two arguments that each build something: gcc works through them from the right, clang from the
left, so that graphs, names in ONNX files and at last the bits of a result would follow the compiler.

A builder is a function that gives an rgm_value *, an ONNX name (of an rgmi_writer *), a tensor of TensorFlow's (of
an rgmi_tf *) or a new size (of an rgm_cgraph *). The first of the two becomes a variable of its own.
"""
import pathlib
import re
import subprocess
import sys

BUILDER = re.compile(r"^(?:static |inline )*(?:rgm_value \*(\w+)\((?!const rgm_value )|const char \*(\w+)\((?:struct )?rgmi_writer \*"
                     r"|const rgmi_tensor \*(\w+)\(rgmi_tf \*|rgm_dim (\w+)\(rgm_cgraph \*)", re.M)
PURE = {"rgmi_name_of", "rgmi_known", "rgmi_fail", "rgmi_text", "input"}  # they look up, or fail once
CALL = re.compile(r"\b([A-Za-z_]\w*)\s*\(")


def plain(text):
    """Without comments and texts, each line where it was."""
    text = re.sub(r"/\*.*?\*/", lambda m: re.sub(r"[^\n]", " ", m.group()), text, flags=re.S)
    return re.sub(r'"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])\'', '""', text)


def arguments(text, at):
    """Those of the call whose bracket opens before `at`."""
    found, depth, start = [], 1, at
    while at < len(text) and depth:
        c = text[at]
        depth += (c in "([{") - (c in ")]}")
        if c == "," and depth == 1:
            found.append(text[start:at])
            start = at + 1
        at += 1
    return found + [text[start : at - 1]]


def main():
    listed = subprocess.run(["git", "ls-files", "src/*.[ch]", "include/*.h", "examples/*.c"], check=True, capture_output=True,
                            text=True)
    texts = {name: plain(pathlib.Path(name).read_text()) for name in listed.stdout.split()
             if not name.endswith("_test.c") and pathlib.Path(name).exists()}
    builders = {next(filter(None, m.groups())) for text in texts.values() for m in BUILDER.finditer(text)} - PURE
    if len(builders) < 100:
        print(f"order: only {len(builders)} builders found: the pattern no longer fits", file=sys.stderr)
        return 1
    build = re.compile(r"\b(?:" + "|".join(sorted(builders)) + r")\s*\(")
    bad = 0
    for name, text in texts.items():
        for call in CALL.finditer(text):
            if call.group(1) in ("if", "while", "for", "switch", "return"):
                continue
            if sum(bool(build.search(a)) for a in arguments(text, call.end())) > 1:
                line = text.count("\n", 0, call.start()) + 1
                print(f"order: {name}:{line}: {call.group(1)}: two arguments build; put the first into a variable", file=sys.stderr)
                bad += 1
    return 1 if bad else 0


sys.exit(main())
