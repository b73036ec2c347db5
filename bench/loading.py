"""What a served translation model costs beside CTranslate2's: time until it can translate, and memory.

usage: loading.py --bench build/bench/regimen_bench [--ctranslate2 PYTHON] [--rounds N] [--out build/bench_loading.json]

The model is that of `regimen_bench make-served`, 3+3 layers of 256 and a vocabulary of 8,000, in f32 and in 8 bits, its
file in the system's cache. Each line is the median of N processes a side, which take turns, on one thread:

ready        from the start of the process to its word that it can translate; of CTranslate2 with Python's own start
load         the call that loads alone (rgm_predictor_open(); Translator())
first        the first translation, of one sentence of six tokens; ours packs the weights in it
before       resident memory before the call: program and libraries
loaded       behind it
peak         the most while 128 sentences are translated by 4 beams, in batches of 512 tokens
file         the weights on disk
"""
import argparse
import json
import os
import statistics
import sys
import tempfile
import time

from bench import HERE, SCRIPTS, Child, duration, make_served, size

FORMS = [("f32", "beam", "f32/model.safetensors", "ctranslate2/model.bin"),
         ("8 bits", "beam-int8", "int8/model.safetensors", "ctranslate2-int8/model.bin")]


def measure(command, form, folder):
    """One process that translates one sentence, and one that translates all."""
    command = command + ["served", "--data", folder, "--form", form]
    begin = time.perf_counter()
    child = Child(command + ["--size", "1"], passive=True)
    ready = time.perf_counter() - begin
    facts = child.facts
    first = child.go(1, 1)
    child.close()
    child = Child(command, passive=True)
    child.go(2, 1)
    child.close()
    return {"ready": ready, "load": facts["loaded"], "first": first, "before": facts["before"],
            "loaded": facts["resident"], "peak": child.facts["peak"], "tokens": child.facts["tokens"],
            "version": child.version}


def line(name, all_of_it, path):
    middle = {key: statistics.median(each[key] for each in all_of_it)
              for key in ("ready", "load", "first", "before", "loaded", "peak")}
    print("%-18s ready %8s  load %8s  first %8s  before %8s  loaded %8s  peak %8s  file %8s" % (
        name, duration(middle["ready"]), duration(middle["load"]), duration(middle["first"]), size(middle["before"]),
        size(middle["loaded"]), size(middle["peak"]), size(os.path.getsize(path))))
    sys.stdout.flush()
    return {"name": name, **middle, "file": os.path.getsize(path), "rounds": all_of_it}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bench", required=True)
    parser.add_argument("--ctranslate2", default="", help="a Python that has ctranslate2")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--out", default="")
    options = parser.parse_args()
    sides = [("ours", [options.bench], 2)]
    if options.ctranslate2:
        script = os.path.join(HERE, SCRIPTS["CTranslate2"])
        sides.append(("CTranslate2", [options.ctranslate2, "-W", "ignore", script], 3))
    results = []
    print("loading  a translation model of 3+3 layers of 256")
    with tempfile.TemporaryDirectory(prefix="regimen-bench-") as folder:
        folder = os.path.join(folder, "served")
        make_served(folder, options.bench, options.ctranslate2)
        for form in FORMS:
            taken = {name: [] for name, _, _ in sides}
            for _ in range(options.rounds):
                for name, command, _ in sides:
                    taken[name].append(measure(command, form[1], folder))
            if len({each["tokens"] for all_of_it in taken.values() for each in all_of_it}) != 1:
                raise RuntimeError("the sides have not written as many tokens")
            for name, _, file in sides:
                results.append(line("%s, %s" % (name, form[0]), taken[name], os.path.join(folder, form[file])))
    if options.out:
        with open(options.out, "w") as file:
            json.dump(results, file, indent=1)
        print("report   %s" % options.out)


main()
