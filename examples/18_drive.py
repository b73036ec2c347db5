"""A program that drives a search of its own, without packages: python3 18_drive.py STUDY SEARCH.yaml"""
import json
import subprocess
import sys

search = subprocess.Popen(["regimen", "search", "stream", sys.argv[1], "--file", sys.argv[2]],
                          stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def say(**line):
    print(json.dumps(line), file=search.stdin, flush=True)
    answer = json.loads(search.stdout.readline())
    if "error" in answer:
        raise SystemExit(answer["error"])
    return answer


while "trial" in (piece := say(type="ask")):
    x = piece["hyperparameters"]["x"]
    say(type="tell", trial=piece["trial"], to=piece["to"], metrics={"loss": (x - 1) ** 2})
say(type="end")
