"""No op touches an element on its own: it hands addresses, which may be a device's, to kernels.

In src/autodiff/op_*.c refused are: reading or writing through a value's memory, a tensor's or a pattern's
arrays, a table of kernels or a loop of threads of the op's own. Functions of ops that work on the host are
listed below with the reason; a line that nothing needs any more is refused too. An op of another layer that
touches elements has to say `.on_host = true`, so that a device hands it copies. Reads the sources alone.
"""
import pathlib
import re
import sys

ELEMENT = r"(?:float|double|u?int(?:8|16|32|64)_t|rgm_str|bool|size_t)"
TOUCHES = {
    "reads elements by a cast": rf"\(\s*(?:const\s+)?{ELEMENT}\s*\*\s*\)[^;]*\bdata\b",
    "points at elements": rf"\b{ELEMENT}\s*\*\s*(?:restrict\s+)?\w+\s*=[^;]*\b(?:data|row_of|column_of)\b(?!\w)",
    "takes a tensor's elements": r"\brgm_tensor_(?:data|f32|f64|i32|i64|bool|bf16|str|at|at_int|set|copy|equal)\(",
    "copies bytes": r"\bmem(?:cpy|move|set|cmp)\([^;]*\bdata\b",
    "reads a pattern's arrays": r"csr(?:_t)?->(?:row_start|column|entry|visit)\b|\b(?:row_of|column_of)\s*\[",
    "asks the host's pattern": r"\brgm_pattern_\w+\(",
    "takes a table of its own": r"\brgm_kernels_(?:for|named)\(",
    "has a loop of threads": r"\brgm_parallel\(",
}
# (file, function): why it may
EXCEPTIONS = {
    ("op_pattern.c", "pattern_set"): "makes a pattern, which is sorted on the host; its ops are on_host",
    ("op_pattern.c", "self_loops_forward"): "the entries of a pattern to be made; on_host",
    ("op_pattern.c", "from_index_forward"): "the entries of a pattern to be made; on_host",
    ("op_map.c", "rgmi_map_program"): "the program of a fused op, which is an attribute and no value",
    ("op_map.c", "map_forward"): "the same",
    ("op_exchange.c", "state_of"): "a pointer to who brings the rows, which is an attribute and no value; on_host",
    ("op_exchange.c", "exchange_backward"): "the same",
    ("op_exchange.c", "rgmi_exchange_of"): "the same",
    ("op_spmm.c", "rows_of"): "which rows need no copies; products are split around an exchange on the CPU alone",
}


def code(path):
    return re.sub(r"/\*.*?\*/|//[^\n]*", lambda m: re.sub(r"[^\n]", " ", m[0]), path.read_text(), flags=re.S)


def functions(text):
    """(name, first line, body)"""
    for match in re.finditer(r"^[a-z][^;={}()]*?\b(\w+)\([^;{}]*\)\s*\{.*?^\}", text, re.M | re.S):
        yield match[1], text[: match.start()].count("\n") + 1, match[0]


def touches(text):
    return [why for why, pattern in TOUCHES.items() if re.search(pattern, text)]


def main():
    bad, needed = [], set()
    for path in sorted(pathlib.Path("src/autodiff").glob("op_*.c")):
        if path.stem.endswith("_test"):
            continue
        for name, line, body in functions(code(path)):
            whys = touches(body)
            if whys and (path.name, name) in EXCEPTIONS:
                needed.add((path.name, name))
            elif whys:
                bad.append(f"{path}:{line}: {name}() {', '.join(whys)}: that is a kernel's")
    for path in sorted(pathlib.Path("src").rglob("*.c")):
        text = code(path)
        rows = re.findall(r"\brgm_op_type \w+ = \{.*?^\s*\};", text, re.M | re.S)
        if path.parent.name == "autodiff" or path.stem.endswith("_test") or not touches(text):
            continue
        bad += [
            f"{path}: op {re.search(r'.name = (.*?),', row)[1]} is of a file that touches elements: .on_host = true"
            for row in rows
            if ".on_host = true" not in row
        ]
    bad += [f"scripts/check_ops.py: {file}: {name} needs no exception" for file, name in set(EXCEPTIONS) - needed]
    for line in bad:
        print("ops:", line, file=sys.stderr)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
