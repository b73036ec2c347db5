"""Run folders and searches for the page to show: real ones, small, on generated data; and folders written line by line
where a test must say when which value comes."""
import fcntl
import json
import os
import shutil
import subprocess
import tempfile

import suite

GRAPH = """description: {description}
data:
  type: citation
  citation: {{nodes: 400, edges: 900, classes: 4, words: 200, words_per_node: 8,
             train_per_class: 10, valid: 100, test: 200}}
task: {{type: node_classification, node_set: nodes, num_classes: 4, head: none}}
model: {{type: gcn, hidden: [{hidden}], output: 4, dropout: 0.5}}
optimizer: {{type: adam, learning_rate: {rate}}}
trainer: {{epochs: {epochs}, histograms: true, checkpoint: {{every_epochs: 7, best: {{metric: valid.accuracy}}}}}}
runtime: {{seed: {seed}, threads: 1}}
export: [{{type: onnx}}]
"""

REVERSE = """description: sequences written backwards
data: {{reverse: {{vocabulary: 10, min_length: 1, max_length: 6, train: 2000, valid: 100}}, batch_tokens: 256, batch_shapes: 4}}
task: {{type: translation}}
model: {{type: seq2seq_transformer, embedding_width: 32, max_positions: 64,
        encoder: {{num_layers: 1, num_attention_heads: 2, intermediate_size: 64}},
        decoder: {{num_layers: 1, num_attention_heads: 2, intermediate_size: 64}}}}
optimizer: {{type: adam, learning_rate: 3e-3}}
trainer: {{epochs: {epochs}, steps_per_loop: 10, checkpoint: {{best: {{metric: valid.exact_match}}}}}}
runtime: {{seed: 1, threads: 1}}
"""

SEARCH = """description: {description}
data:
  type: citation
  citation: {{nodes: 400, edges: 900, classes: 4, words: 200, words_per_node: 8,
             train_per_class: 10, valid: 100, test: 200}}
task: {{type: node_classification, node_set: nodes, num_classes: 4, head: none}}
model: {{type: gcn, hidden: [8], output: 4, dropout: 0.5}}
optimizer: {{type: adam}}
hyperparameters:
  optimizer.learning_rate: {{type: log, base: 10, minval: -4, maxval: -1}}
  model.hidden: {{type: categorical, vals: [[4], [8], [16]]}}
  model.dropout: {{type: double, minval: 0, maxval: 0.8}}
searcher: {{name: {searcher}, metric: valid.accuracy, smaller_is_better: false, max_trials: {trials},
           max_length: {length}{more}}}
batches_per_step: 5
reproducibility: {{experiment_seed: 7}}
labels: [small]
"""

ASHA = ", max_rungs: 3, mode: aggressive, max_concurrent_trials: 4"
MARKUP = "<img src=x onerror=alert(1)><b>bold"  # a run's name: text wherever it is shown


def command(*words, cwd=None):
    done = subprocess.run([suite.REGIMEN, *map(str, words)], cwd=cwd, capture_output=True, text=True, timeout=300)
    if done.returncode != 0:
        raise AssertionError(f"{' '.join(map(str, words))}: exit {done.returncode}\n{done.stderr[-2000:]}")
    return done.stdout


def write(path, text):
    with open(path, "w") as file:
        file.write(text)
    return path


def graph(folder, **changes):
    how = {"description": "a small graph", "hidden": 8, "rate": 0.01, "epochs": 40, "seed": 3, **changes}
    return write(os.path.join(folder, "graph.yaml"), GRAPH.format(**how))


def search(folder, name="search.yaml", **changes):
    how = {"description": "a small search", "searcher": "adaptive_asha", "trials": 16, "length": 16, "more": ASHA, **changes}
    return write(os.path.join(folder, name), SEARCH.format(**how))


def make(folder):
    """folder/runs: four graph runs, one of them with markup for a name, one with two explanations, and a translation; folder/experiments: a finished
    search. Some ten seconds."""
    runs = os.path.join(folder, "runs")
    os.makedirs(runs)
    for seed, rate, hidden, name in ((1, 0.01, 8, "graph-1"), (2, 0.03, 8, "graph-2"), (10, 0.01, 16, "graph-10"), (4, 0.003, 8, MARKUP)):
        words = "<i>a graph</i> & \"more\"" if name == MARKUP else f"a graph of seed {seed}"
        config = graph(folder, seed=seed, rate=rate, hidden=hidden, description=json.dumps(words))
        command("run", config, "--run-dir", os.path.join(runs, name), "-q")
    for how in (("--item", 3, "--method", "mask", "--steps", 5, "--edges", "--top", 8), ("--item", 1, "--top", 200)):
        command("explain", os.path.join(runs, "graph-1"), *how, "--keep")
    config = write(os.path.join(folder, "reverse.yaml"), REVERSE.format(epochs=4))
    command("run", config, "--run-dir", os.path.join(runs, "reverse"), "-q")
    command("experiment", "run", search(folder), "--slots", 2, "-q", "--master", os.path.join(folder, "experiments"))
    return folder


_made = None


def shared():
    """The same for all files of one `make test`: $RGM_MATERIAL where that is made already. Not to be changed by a test."""
    global _made
    _made = _made or os.environ.get("RGM_MATERIAL")
    if _made is None:
        import atexit
        home = tempfile.mkdtemp(prefix="regimen-page-")
        atexit.register(shutil.rmtree, home, ignore_errors=True)
        _made = make(os.path.join(home, "material"))
    return _made


def measured(run_folder, split=None):
    """metrics.jsonl, a dictionary a line."""
    with open(os.path.join(run_folder, "metrics.jsonl")) as file:
        lines = [json.loads(line) for line in file]
    return [line for line in lines if split is None or line["split"] == split]


def _crc_table():
    table = []
    for i in range(256):
        for _ in range(8):
            i = i >> 1 ^ (0x82F63B78 if i & 1 else 0)
        table.append(i)
    return table


CRC = _crc_table()


def crc32c(data):
    value = 0xFFFFFFFF
    for byte in data:
        value = CRC[(value ^ byte) & 255] ^ value >> 8
    return value ^ 0xFFFFFFFF


class Writer:
    """A run folder that is written from here, a line when the test says so: it trains as long as this has its lock."""

    def __init__(self, path, config="description: written\nmodel: {type: gcn}\ntrainer: {epochs: 1000}\n"):
        os.makedirs(path)
        self.path = path
        write(os.path.join(path, "config.yaml"), config)
        write(os.path.join(path, "env.json"), '{"version": "0.1.0", "host": "here", "seed": 1, "threads": 1}\n')
        self.log = open(os.path.join(path, "log.txt"), "w")
        self.lock = open(os.path.join(path, ".lock"), "w")
        fcntl.flock(self.lock, fcntl.LOCK_EX)
        self.lock.write(f"{os.getpid()} here\n")
        self.lock.flush()
        self.metrics = open(os.path.join(path, "metrics.jsonl"), "wb", buffering=0)

    def line(self, split, step, **values):
        text = json.dumps({"split": split, "step": step, "epoch": step, **values}, separators=(",", ":"))[:-1].encode()
        self.metrics.write(text + b',"crc":"%08x"}\n' % crc32c(text))

    def figures(self, step, seconds):
        """A line of system.jsonl, by which the page tells how long it takes yet."""
        with open(os.path.join(self.path, "system.jsonl"), "a") as file:
            file.write(json.dumps({"time": 1.0, "step": step, "epoch": step, "seconds": seconds, "steps_per_second": step / seconds}) + "\n")

    def say(self, text):
        self.log.write(text + "\n")
        self.log.flush()

    def close(self):
        for file in (self.metrics, self.log, self.lock):
            file.close()


if __name__ == "__main__":  # material.py REGIMEN FOLDER: page_test.sh makes it once for all files
    import sys
    suite.REGIMEN = os.path.realpath(sys.argv[1])
    make(sys.argv[2])
