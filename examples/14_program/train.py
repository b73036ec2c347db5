"""A trial as a Python program without packages: a line through points, by gradient descent. A step is an epoch."""

import json
import os
import random
import socket

# The trial, and a line of JSON each way.
trial = json.load(open(os.environ["REGIMEN_TRIAL"]))
connection = socket.socket(socket.AF_UNIX)
connection.connect(os.environ["REGIMEN_SOCKET"])
lines = connection.makefile("rw")


def tell(**message):
    print(json.dumps(message), file=lines, flush=True)
    answer = json.loads(lines.readline())
    if "error" in answer:
        raise SystemExit(answer["error"])
    return answer


values = trial["hyperparameters"]
source = random.Random(1)
points = [(x, 2 * x + 1 + source.gauss(0, 0.1)) for x in (source.uniform(-1, 1) for _ in range(200))]
train, valid = points[:150], points[150:]
state = {"slope": 0.0, "offset": 0.0, "velocity": [0.0, 0.0]}
if trial["checkpoint"]:
    state = json.load(open(trial["checkpoint"] + "/state.json"))


def loss(part):
    return sum((state["slope"] * x + state["offset"] - y) ** 2 for x, y in part) / len(part)


def train_epoch(epoch):
    order = list(train)
    random.Random(trial["seed"] * 1000 + epoch).shuffle(order)  # the same order when an epoch is trained again
    for x, y in order:
        error = state["slope"] * x + state["offset"] - y
        for i, gradient in enumerate((2 * error * x, 2 * error)):
            velocity = values["momentum"] * state["velocity"][i] - values["learning_rate"] * gradient
            state["velocity"][i] = velocity
            state["slope" if i == 0 else "offset"] += velocity


step, order = trial["step"], tell(type="next")
while order["do"] != "stop":
    if order["do"] == "train":
        train_epoch(step)
        step += 1
        order = tell(type="report", step=step, metrics={"loss": loss(train)})
    elif order["do"] == "validate":
        order = tell(type="validation", step=step, metrics={"loss": loss(valid)})
    else:
        json.dump(state, open(order["folder"] + "/state.json", "w"))
        order = tell(type="checkpoint", step=step)
