"""Event files written by tensorboard_files, read by tensorboard's own readers.

usage: tensorboard_oracle.py PROGRAM READER; exits 77 where tensorboard is not installed. READER is ours, and has to
find the same values in the files.
"""
import pathlib
import subprocess
import sys
import tempfile

try:
    from tensorboard.backend.event_processing import event_accumulator
    from tensorboard.backend.event_processing import event_file_loader
    from tensorboard.backend.event_processing import plugin_event_accumulator
    from tensorboard.plugins.hparams import plugin_data_pb2
    from tensorboard.util import tensor_util
except ImportError as error:
    print(f"SKIPPED: tensorboard is not installed ({error})")
    sys.exit(77)


def check(got, want, what):
    if got != want:
        sys.exit(f"{what}: got {got!r}, want {want!r}")


def close(got, want, what):
    if abs(got - want) > 1e-6 * abs(want):
        sys.exit(f"{what}: got {got!r}, want {want!r}")


def check_train(folder):
    """The lost work at step 30 is gone, each step is there once, and the values are right."""
    want = [10, 20, 21, 31, 41, 51]
    old = event_accumulator.EventAccumulator(folder, size_guidance={"scalars": 0, "histograms": 0})
    old.Reload()
    check(old.file_version, 2, "file version")
    for tag in ("epoch_loss", "epoch_accuracy"):
        check([e.step for e in old.Scalars(tag)], want, f"steps of {tag}")
    for event in old.Scalars("epoch_loss"):
        close(event.value, 1 / event.step + (100 if event.step < 21 else 0), "epoch_loss")
    histograms = old.Histograms("conv1/kernel")
    check([e.step for e in histograms], want, "steps of the histogram")
    value = histograms[0].histogram_value
    check((value.min, value.max, value.num, value.sum), (0, 99, 100, 4950), "histogram")
    check(sum(value.bucket), 100, "histogram's buckets")

    # What the server itself uses: everything becomes a tensor with a plugin's name.
    new = plugin_event_accumulator.EventAccumulator(folder)
    new.Reload()
    check(new.SummaryMetadata("epoch_loss").plugin_data.plugin_name, "scalars", "plugin")
    check(new.SummaryMetadata("conv1/kernel").plugin_data.plugin_name, "histograms", "plugin")
    check([e.step for e in new.Tensors("epoch_loss")], want, "steps as tensors")
    buckets = tensor_util.make_ndarray(new.Tensors("conv1/kernel")[0].tensor_proto)
    check(buckets.shape, (30, 3), "buckets")
    close(buckets[:, 2].sum(), 100, "buckets' counts")


def check_hparams(folder):
    run = plugin_event_accumulator.EventAccumulator(folder)
    run.Reload()
    data = {}
    for tag in ("experiment", "session_start_info", "session_end_info"):
        metadata = run.SummaryMetadata(f"_hparams_/{tag}")
        check(metadata.plugin_data.plugin_name, "hparams", tag)
        message = plugin_data_pb2.HParamsPluginData.FromString(metadata.plugin_data.content)
        check(message.version, 0, "version")
        check(message.WhichOneof("data"), tag, "kind")
        data[tag] = getattr(message, tag)
    infos = {info.name: info.type for info in data["experiment"].hparam_infos}
    check(infos, {"optimizer.learning_rate": 3, "model.type": 1}, "hyperparameters")
    metric = data["experiment"].metric_infos[0].name
    check((metric.group, metric.tag), ("train", "epoch_loss"), "metric")
    start = data["session_start_info"]
    check(start.group_name, "cora", "group")
    check(start.hparams["optimizer.learning_rate"].number_value, 0.01, "number")
    check(start.hparams["model.type"].string_value, "gcn", "text")
    check(data["session_end_info"].status, 1, "status")


def lines(path):
    """What tensorboard's reader finds in a file, in event_lines' form."""
    for event in event_file_loader.LegacyEventFileLoader(path).Load():
        if event.HasField("session_log") and event.session_log.status == event.session_log.START:
            yield ["start", event.step, event.wall_time, "-"]
        for value in event.summary.value:
            begin = [event.step, event.wall_time, value.tag]
            kind = value.WhichOneof("value")
            if kind == "simple_value":
                yield ["scalar", *begin, value.simple_value]
            elif kind == "histo":
                h = value.histo
                yield ["histogram", *begin, h.min, h.max, h.num, h.sum, *zip(h.bucket_limit, h.bucket)]
            elif kind == "tensor" and len(value.tensor.string_val) == 1:
                yield ["text", *begin, value.tensor.string_val[0]]


def read_line(line):
    """One of event_lines' lines."""
    kind, step, time, tag, *rest = line.split(" ")
    if kind == "text":
        rest = [bytes.fromhex(rest[0])]
    else:
        rest = [tuple(map(float, x.split(":"))) if ":" in x else float(x) for x in rest]
    return [kind, int(step), float(time), tag, *rest]


def check_reader(reader, folder):
    """Our reader finds what tensorboard's does, in each file, value for value."""
    found = 0
    for path in sorted(pathlib.Path(folder).rglob("events.out.tfevents.*")):
        ours = subprocess.run([reader, path], check=True, capture_output=True, text=True).stdout.splitlines()
        theirs = list(lines(str(path)))
        check(len(ours), len(theirs), f"values of {path.name}")
        for line, want in zip(ours, theirs):
            got = read_line(line)
            if want[0] == "scalar":
                close(got[-1], want.pop(), "scalar")
                got.pop()
            check(got, want, "value")
            found += 1
    if found < 20:
        sys.exit(f"only {found} values were compared")


def main(program, reader):
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([program, folder], check=True)
        check_train(f"{folder}/train")
        check_hparams(folder)
        check_reader(reader, folder)
    print("tensorboard reads the event files as they were meant, and our reader finds what it does")


main(sys.argv[1], sys.argv[2])
