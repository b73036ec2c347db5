"""What the peers share: their arguments and the protocol of regimen_bench. A peer prints a line of JSON
when it is ready, then obeys "threads N" and "go N" on standard input, a line of JSON for each "go".
"""
import argparse
import json
import sys
import time

import torch


def arguments(form="", needs_data=False):
    """WORKLOAD --data FILE [--form NAME] [--size N]; torch's random numbers begin anew."""
    parser = argparse.ArgumentParser()
    parser.add_argument("workload")
    parser.add_argument("--data", required=needs_data)
    parser.add_argument("--form", default=form)
    parser.add_argument("--size", type=int, default=0)
    torch.manual_seed(0)
    return parser.parse_args()


def peak():
    with open("/proc/self/status") as file:
        for line in file:
            if line.startswith("VmHWM"):
                return int(line.split()[1]) * 1024
    return 0


def serve(step, workload, **facts):
    """Steps as they are asked for: step(0), step(1), .."""
    number = 0
    print(json.dumps({"workload": workload, "version": torch.__version__, **facts}), flush=True)
    for line in sys.stdin:
        word, argument = line.split()
        if word == "threads":
            torch.set_num_threads(int(argument))
            continue
        begin = time.perf_counter()
        for _ in range(int(argument)):
            step(number)
            number += 1
        seconds = (time.perf_counter() - begin) / int(argument)
        print(json.dumps({"seconds": seconds, "steps": int(argument), "peak": peak()}), flush=True)
