"""What the peers share: their arguments and the protocol of regimen_bench. A peer prints a line of JSON
when it is ready, then obeys "threads N" and "go N" on standard input, a line of JSON for each "go".
With --device cuda torch makes and keeps everything there, and a time ends when the device has done its work.
"""
import argparse
import json
import sys
import time

try:
    import torch
except ImportError:  # where TF-GNN or CTranslate2 is
    torch = None

device = "cpu"  # or what --device says


def arguments(form="", needs_data=False):
    """WORKLOAD --data FILE [--form NAME[+HOW]] [--size N] [--device NAME]: .form and .how ("", "compile" or "pyg")
    apart; torch's random numbers begin anew."""
    parser = argparse.ArgumentParser()
    parser.add_argument("workload")
    parser.add_argument("--data", required=needs_data)
    parser.add_argument("--form", default=form)
    parser.add_argument("--size", type=int, default=0)
    parser.add_argument("--device", default="cpu")
    if torch is not None:
        torch.manual_seed(0)
    options = parser.parse_args()
    if options.device != "cpu":
        global device
        device = options.device
        torch.set_default_device(device)
    options.form, _, options.how = options.form.partition("+")
    return options


def compiled(function, how):
    """The function through torch.compile, if that is how; shapes that change are not compiled anew."""
    return torch.compile(function) if how == "compile" else function


def adam(parameters, **options):
    """Adam as one fused kernel where this torch has it on the CPU."""
    parameters = list(parameters)
    try:
        return torch.optim.Adam(parameters, fused=True, **options)
    except (RuntimeError, TypeError):
        return torch.optim.Adam(parameters, **options)


def resident(what="VmRSS"):
    """Bytes of this process, now; "VmHWM": at their peak."""
    with open("/proc/self/status") as file:
        for line in file:
            if line.startswith(what):
                return int(line.split()[1]) * 1024
    return 0


def peak():
    """Bytes: of the device, where that is no CPU."""
    return resident("VmHWM") if device == "cpu" else torch.cuda.max_memory_allocated()


def tell(seconds, steps, **facts):
    """The answer to "go": what `steps` steps took."""
    print(json.dumps({"seconds": seconds / steps, "steps": steps, "peak": peak(), **facts}), flush=True)


def turns(workload, set_threads=None, **facts):
    """Says that it is ready, then gives the count of each "go"; what comes between is timed and told by
    the caller. set_threads(N) obeys "threads N" (torch's, if it is not given)."""
    if set_threads is None and torch is not None:
        set_threads = torch.set_num_threads
    print(json.dumps({"workload": workload, **facts}), flush=True)
    for line in sys.stdin:
        word, argument = line.split()
        if word == "go":
            yield int(argument)
        elif set_threads is not None:
            set_threads(int(argument))


def serve(step, workload, **facts):
    """Steps as they are asked for: step(0), step(1), ..; facts: turns()' set_threads too."""
    number = 0
    facts.setdefault("version", torch.__version__)
    for count in turns(workload, **facts):
        begin = time.perf_counter()
        for _ in range(count):
            step(number)
            number += 1
        if device != "cpu":
            torch.cuda.synchronize()
        tell(time.perf_counter() - begin, count)
