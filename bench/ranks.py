"""Times two ranks of one thread beside one rank of two threads, and beside torch's DistributedDataParallel.

usage: ranks.py --bench build/bench/regimen_bench [--peer PYTHON] [--rounds N] [--out build/bench_ranks.json]

All are the same step of the same model: two shards, which one process has or two. As in bench.py the sides take turns, ratios are taken
within a round, and their median is told; every side has both processors in its turn.
"""
import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile

from bench import LARGE, Child, Ended

HERE = os.path.dirname(os.path.abspath(__file__))
TURN_SECONDS = 2.0
OWN_GOAL, PEER_GOAL = 0.95, 1.5
# title, our workload, torch's, options of both, whether it reads the large graph
WORKLOADS = [
    ("Transformer 3+3 layers of 256, 2,048 tokens", "translate_run", "translate", ["--form", "small"], False),
    ("GraphSAGE, 1,024 seeds, 5/10/15", "sampled_run", "minibatch", ["--size", "1024"], True),
]


def mpirun(build):
    library = os.path.join(build, "libregimen-mpi.so")
    if not shutil.which("mpirun") or not os.path.exists(library):
        return None
    return ["env", "REGIMEN_MPI=" + library, "mpirun", "--allow-run-as-root", "--oversubscribe", "--bind-to", "none",
            "--mca", "btl", "self,vader,tcp", "-n", "2"]


def steps_of(child):
    child.go(1)
    return max(1, int(TURN_SECONDS / max(child.go(1), 1e-6)))


def median(values):
    return statistics.median(values)


def judge(ratio, goal):
    return "%.2f (goal %.2f%s)" % (ratio, goal, "" if ratio >= goal else ": MISSED")


def measure(row, options, launch, graph):
    title, ours, torchs, words, reads = row
    words = words + (["--data", graph] if reads else [])
    sides = {"1 rank, 2 threads": Child([options.bench, ours, "--shards", "2", "--threads", "2"] + words),
             "2 ranks, 1 thread": Child(launch + [options.bench, ours, "--shards", "2", "--threads", "1"] + words)}
    if options.peer:
        for how in ("", "+compile"):
            form = words[1] if ours == "translate_run" else ""
            rest = words if ours != "translate_run" else words[2:]
            name = "torch DDP, 2 processes" + (", compiled" if how else "")
            try:
                sides[name] = Child([options.peer, "-W", "ignore", os.path.join(HERE, "peer_ddp.py"), torchs, "--form",
                                     form + how] + rest, quiet=True)
                sides[name].go(1)
            except Ended as error:
                sides.pop(name, None)
                print("%-28s does not run: %s" % (name, error))
    steps = {name: steps_of(child) for name, child in sides.items()}
    times = {name: [] for name in sides}
    hidden, waited = [], []
    for _ in range(options.rounds):
        for name, child in sides.items():
            times[name].append(child.go(steps[name]))
            if name.startswith("2 ranks"):
                hidden.append(child.facts["hidden"])
                waited.append(child.facts["waited"] / child.facts["steps"] / child.facts["seconds"])
    for child in sides.values():
        child.process.stdin.close()
        child.process.wait()
    return report(title, times, hidden, waited)


def report(title, times, hidden, waited):
    two = times["2 ranks, 1 thread"]
    own = median([a / b for a, b in zip(times["1 rank, 2 threads"], two)])
    print("\n" + title, flush=True)
    for name, seconds in times.items():
        print("  %-34s %8.1f ms" % (name, 1e3 * median(seconds)))
    print("  2 ranks against 1                  %s; %.0f %% of the sums' time hidden, %.1f %% of the step waited" %
          (judge(own, OWN_GOAL), 100 * median(hidden), 100 * median(waited)))
    result = {"title": title, "seconds": times, "own": own, "hidden": hidden, "waited": waited}
    peers = [seconds for name, seconds in times.items() if name.startswith("torch")]
    if peers:
        result["peer"] = median([min(each) / b for *each, b in zip(*peers, two)])
        print("  against DDP's faster form          %s" % judge(result["peer"], PEER_GOAL))
    return result


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bench", required=True)
    parser.add_argument("--peer")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--out")
    options = parser.parse_args()
    launch = mpirun(os.path.dirname(os.path.dirname(os.path.abspath(options.bench))))
    if launch is None:
        print("ranks: left out: there is no mpirun, or this build has no MPI (Debian: libopenmpi-dev, openmpi-bin)")
        return 0
    with tempfile.TemporaryDirectory() as folder:
        graph = os.path.join(folder, "large")
        subprocess.run([options.bench, "make", graph] + LARGE[1].split(), check=True)
        results = [measure(row, options, launch, graph) for row in WORKLOADS]
    if options.out:
        with open(options.out, "w") as file:
            json.dump(results, file, indent=1)
    return 0


if __name__ == "__main__":
    sys.exit(main())
