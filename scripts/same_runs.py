"""Compare what two programs left in two folders: scripts/same_runs.sh's table, a line a call.

usage: same_runs.py NAME BASE_FOLDER NEW_FOLDER; exit 1 where they differ.
"""
import json
import pathlib
import re
import struct
import sys

# Times, rates and places: what may differ between two runs of one program.
CLOCK = [
    (rb'"(seconds|modified|[a-z_]+_per_second)": *("[^"]*"|[-+0-9.e]+)', rb'"\1": _'),
    (rb"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\dZ?)?", b"_"),
    (rb"[a-z_]+_per_second [0-9.e+]+", b"_"),
    (rb"(?m)^(step|epoch) .* MB(  ckpt [0-9,]+)?\n", b""),  # progress, when a second is over
    (rb"\d[0-9.,]* ?(ms|s|min|h|[a-z]+/s)\b", b"_"),
]

# Files that runs did not always keep: where the base has none of them there is nothing to compare.
LATER = ("sources.json", "tables.jsonl", "score_curves.jsonl", "model.json", "gradients")


def events(data, gradients):
    """An event file's records without wall time and rates: histograms of gradients, or all others."""
    at, records = 0, []
    while at + 12 <= len(data):
        size = struct.unpack_from("<Q", data, at)[0]
        record = data[at + 12 : at + 12 + size]
        at += size + 16
        if b"per_second" not in record and (b"gradients/" in record) == gradients:
            records.append(record[9:] if record[:1] == b"\t" else record)
    # Start and end of a session are doubles too, of seconds since 1970.
    return re.sub(rb"(?s).{6}[\xd8-\xdf]\x41", b"_", b"\n".join(records))


def read(folder):
    """What is compared: {path: bytes}, paths without clock and process."""
    found = {}
    for path in sorted(folder.rglob("*")):
        name = str(path.relative_to(folder))
        if path.is_symlink() or not path.is_file() or name.startswith("data/"):
            continue
        if path.name in (".lock", "system.jsonl"):  # of the process: times, memory, rates
            continue
        data = path.read_bytes()
        if "tfevents" in name:
            name = re.sub(r"events\.out\.tfevents\..*", "gradients", name)
            if b"gradients/" in data:
                found[name] = found.get(name, b"") + events(data, True)
            name = name[: -len("gradients")] + "events"
            data = found.get(name, b"") + events(data, False)
        elif path.name in ("printed", "warned", "log.txt", "summary.json"):  # which have times and rates
            for pattern, by in CLOCK:
                data = re.sub(pattern, by, data)
        elif path.name == "result.json":
            data = re.sub(rb'"(seconds|started|ended)": [0-9.]+', b"", data)
        found[name] = data
    return found


def first_difference(a, b):
    """The first line of text that differs, or where the bytes do."""
    if b"\0" in a or b"\0" in b:
        at = next((i for i, (x, y) in enumerate(zip(a, b)) if x != y), min(len(a), len(b)))
        return f"byte {at} of {len(a)} and {len(b)}"
    left, right = a.decode(errors="replace").splitlines(), b.decode(errors="replace").splitlines()
    for number, (x, y) in enumerate(zip(left, right), 1):
        if x != y:
            return f"line {number}\n      - {x[:160]}\n      + {y[:160]}"
    return f"{len(left)} and {len(right)} lines"


def steps(files):
    """Updates of all runs of the case, by the last line of each metrics.jsonl."""
    total = 0
    for name, data in files.items():
        if name.endswith("metrics.jsonl") and data:
            total += max(json.loads(line)["step"] for line in data.splitlines())
    return total


def main():
    name, base, new = sys.argv[1], read(pathlib.Path(sys.argv[2])), read(pathlib.Path(sys.argv[3]))
    for path in new.keys() - base.keys():  # a base of before there were such files
        if pathlib.Path(path).name in LATER and not any(p.endswith(pathlib.Path(path).name) for p in base):
            del new[path]
    different = []
    for path in sorted(base.keys() | new.keys()):
        if path not in base or path not in new:
            different.append(f"{path}: only {'in the working tree' if path in new else 'in the base'}")
        elif base[path] != new[path]:
            different.append(f"{path}: {first_difference(base[path], new[path])}")
    lines = sum(base.get(p, b"").count(b"\n") for p in ("printed", "warned"))
    result = f"DIFFERENT ({len(different)} files)" if different else "equal"
    print(f"{name:<20} {steps(base):>7,} {len(base):>6,} {lines:>8,}  {result}", flush=True)
    for line in different[:8]:
        print(f"    {line}")
    return 1 if different else 0


sys.exit(main())
