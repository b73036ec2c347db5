"""Times a run that waits for its batches: by itself on one core and on two, and with an input worker on the other core.

usage: workers.py --command build/regimen [--rounds N] [--steps N] [--out build/bench_workers.json]

The trainer has one core and one thread; what its data pipeline computes beside it has the same core. The worker has the other core. In each
round every side trains once, all on the same batches; ratios are taken within a round and their median is told. By the clock they are those of
the moment: who shares the machine with others sees them swing. So the same is told by processor time: a step lasts at least as long as the
busier of the two cores computes for it. What would be possible, if a batch came from one core to the other for nothing, follows from what it
takes to make one: a step of the trainer alone with a model of one unit.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

ALONE, SERVED, BOTH, INPUT = "alone on one core", "with a worker on the other core", "alone on both cores", "its batches alone"
SMALL = "{type: vanilla_mpnn, units: 16, message_dim: 16, encode: false, receiver_state: false}"
# title, steps, data, model, how the data are made before (words of `regimen data`)
WORKLOADS = [
    ("records of subgraphs of 6 and 6 neighbours, 64 of them, with 8 eigenvectors each", 600,
     "{type: records, schema: records/schema.pbtxt, train: 'records/train-*.tfrecord', valid: 'records/valid-*.tfrecord', batch_size: 64, "
     "shuffle_size: 256, processors: [{type: laplacian, count: 8}, {type: random_signs}]}",
     "{type: vanilla_mpnn, units: 128, message_dim: 256, layers: 2, encode: false, receiver_state: false}",
     ["generate citation --to small --nodes 8000 --edges 40000 --classes 4 --words 400 --words-per-node 10 --train-per-class 1200 "
      "--valid 40 --test 40",
      "sample small --to records --hops edges:6,edges:6 --label label"]),
    ("subgraphs of 15, 10 and 10 neighbours, 64 seeds", 300,
     "{type: folder, path: graph, batch_size: 64, sampling: {sizes: [15, 10, 10], store: memory}}", SMALL,
     ["generate citation --to graph --nodes 40000 --edges 400000 --classes 4 --words 400 --words-per-node 10 --train-per-class 7000 "
      "--valid 40 --test 40"]),
    ("records of subgraphs of 10 and 10 neighbours, 64 of them", 1000,
     "{type: records, schema: records/schema.pbtxt, train: 'records/train-*.tfrecord', valid: 'records/valid-*.tfrecord', batch_size: 64, "
     "shuffle_size: 256}", SMALL,
     ["generate citation --to small --nodes 8000 --edges 80000 --classes 4 --words 400 --words-per-node 10 --train-per-class 1200 "
      "--valid 40 --test 40",
      "sample small --to records --hops edges:10,edges:10 --label label"]),
]


def experiment(data, model, steps):
    return ("data: %s\n"
            "task: {type: root_node_classification, node_set: nodes, label: label, num_classes: 4}\n"
            "model: %s\n"
            "optimizer: {type: adam, learning_rate: 1e-2}\n"
            "trainer: {epochs: ~, train_steps: %d, steps_per_loop: 5, validation_interval: 0}\n"
            "runtime: {seed: 3, threads: 1}\n"
            "export: []\n" % (data, model, steps))


class Run:
    """The runs of one workload, in a folder that has its data."""

    def __init__(self, command, folder, steps):
        self.command, self.folder, self.steps, self.count = command, folder, steps, 0
        self.cores = sorted(os.sched_getaffinity(0))[:2]

    def begin(self, words, cores):
        said = open(os.path.join(self.folder, "said"), "a")
        return subprocess.Popen([self.command] + words, cwd=self.folder, stdout=said, stderr=said,
                                preexec_fn=lambda: os.sched_setaffinity(0, cores))

    def end(self, process):
        """The processor time that it took."""
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode != 0:
            with open(os.path.join(self.folder, "said")) as file:
                sys.exit("workers.py: %s: exit code %d: %s" % (process.args, process.returncode, file.read()[-2000:]))
        return used.ru_utime + used.ru_stime

    def address(self, run, trainer):
        """Where the trainer listens, once it says so."""
        path = os.path.join(self.folder, run, "input_workers.json")
        for _ in range(3000):
            try:
                with open(path) as file:
                    return json.load(file)["address"][len("tcp://"):]
            except (OSError, ValueError):
                time.sleep(0.02)
        trainer.kill()
        sys.exit("workers.py: the trainer waits for no worker: %s" % open(os.path.join(self.folder, "said")).read()[-2000:])

    def seconds(self, run):
        """Of a step, by the clock and of processor, without those before the first line."""
        with open(os.path.join(self.folder, run, "system.jsonl")) as file:
            lines = [json.loads(line) for line in file]
        first, last = lines[0], lines[-1]
        if last["step"] - first["step"] < self.steps / 4:
            sys.exit("workers.py: %d steps are too few to be timed" % self.steps)
        return [(last[what] - first[what]) / (last["step"] - first["step"]) for what in ("seconds", "cpu_seconds")]

    def train(self, side):
        """Seconds of a step, by the clock and of the trainer's processor, and what the worker says of a batch."""
        self.count += 1
        run = "run%d" % self.count
        words = ["run", "run.yaml", "--run-dir", run]
        if side != SERVED:
            cores = self.cores if side == BOTH else self.cores[:1]
            tiny = [word for key in ("units", "message_dim", "layers") for word in ("--set", "model.%s=1" % key)]
            self.end(self.begin(words + ["--set", "runtime.threads=%d" % len(cores)] + (tiny if side == INPUT else []), cores))
            return self.seconds(run) + [None]
        key = ["--set", "runtime.input_workers.key=key"]
        trainer = self.begin(words + key + ["--set", "runtime.input_workers.address=127.0.0.1:0"], self.cores[:1])
        worker = self.begin(["data", "serve", "run.yaml", "--address", self.address(run, trainer)] + key, self.cores[1:])
        self.end(trainer)
        processor = self.end(worker)
        with open(os.path.join(self.folder, run, "input_workers.json")) as file:
            said = json.load(file)
        made = said["workers"][0]
        return self.seconds(run) + [{"make": processor / made["made"], "bytes": made["bytes"] / made["made"],
                                     "waited": said["trainer_waited"] / said["seconds"]}]


def measure(command, rounds, row, steps):
    title, usual, data, model, before = row
    steps = steps or usual
    with tempfile.TemporaryDirectory() as folder:
        for words in before:
            subprocess.run([command, "data"] + words.split(), cwd=folder, check=True, capture_output=True)
        subprocess.run([command, "data", "key", "key"], cwd=folder, check=True, capture_output=True)
        with open(os.path.join(folder, "run.yaml"), "w") as file:
            file.write(experiment(data, model, steps))
        run = Run(command, folder, steps)
        times, computed = ({side: [] for side in (ALONE, SERVED, BOTH, INPUT)} for _ in range(2))
        facts = []
        for _ in range(rounds):
            for side in times:
                step, processor, said = run.train(side)
                times[side].append(step)
                computed[side].append(processor)
                facts += [said] if said else []
    return report(title, times, computed, facts)


def report(title, times, computed, facts):
    def middle(name):
        return statistics.median(each[name] for each in facts)

    ratio = {side: statistics.median(a / b for a, b in zip(times[ALONE], times[side])) for side in (SERVED, BOTH)}
    alone, served, make = (statistics.median(computed[side]) for side in (ALONE, SERVED, INPUT))
    by_processor = statistics.median(a / max(b, each["make"]) for a, b, each in zip(computed[ALONE], computed[SERVED], facts))
    possible = alone / max(make, alone - make)
    print("\n" + title, flush=True)
    for side, seconds in list(times.items())[:3]:
        print("  %-34s %8.2f ms a step, of which the trainer computes %.2f" %
              (side, 1e3 * statistics.median(seconds), 1e3 * statistics.median(computed[side])))
    print("  a batch of %.2f MB takes %.2f ms to make and %.2f to train on; of the worker's core to make and send %.2f, of the trainer's to "
          "receive %.2f" % (middle("bytes") / 1e6, 1e3 * make, 1e3 * (alone - make), 1e3 * middle("make"), 1e3 * (served - alone + make)))
    print("  a worker on the other core         %.2f of the speed alone by processor time, %.2f by the clock; %.2f would be possible" %
          (by_processor, ratio[SERVED], possible))
    print("  both cores without a worker        %.2f by the clock; 2 would be possible" % ratio[BOTH])
    return {"title": title, "seconds": times, "processor": computed, "worker": facts, "gain": ratio[SERVED],
            "gain_by_processor": by_processor, "possible": possible, "both": ratio[BOTH]}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--command", required=True)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--steps", type=int, default=0, help="of each run in place of its own")
    parser.add_argument("--out")
    options = parser.parse_args()
    if len(os.sched_getaffinity(0)) < 2:
        print("workers: left out: there is one core")
        return 0
    command = os.path.abspath(options.command)
    if "no: " in subprocess.run([command, "doctor"], capture_output=True, text=True).stdout.partition("\nworkers")[2].partition("\n")[0]:
        print("workers: left out: there is no ZeroMQ (Debian: libzmq5)")
        return 0
    results = [measure(command, options.rounds, row, options.steps) for row in WORKLOADS]
    if options.out:
        with open(options.out, "w") as file:
            json.dump(results, file, indent=1)
    return 0


if __name__ == "__main__":
    sys.exit(main())
