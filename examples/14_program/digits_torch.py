"""A trial as a Python program: a perceptron in PyTorch on scikit-learn's digits. A step is an epoch."""

import json
import os
import socket
import sys

import numpy
import torch

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
torch.set_num_threads(trial["threads"])
torch.manual_seed(trial["seed"])
rows = numpy.loadtxt(sys.argv[1], delimiter=",", dtype="float32")  # 64 pixels of 0 to 16, and the digit
x, y = torch.tensor(rows[:, :64] / 16), torch.tensor(rows[:, 64], dtype=torch.int64)
train, valid = slice(0, len(x) * 3 // 4), slice(len(x) * 3 // 4, None)
model = torch.nn.Sequential(
    torch.nn.Linear(64, values["hidden"]),
    torch.nn.ReLU(),
    torch.nn.Dropout(values["dropout"]),
    torch.nn.Linear(values["hidden"], 10),
)
optimizer = torch.optim.Adam(model.parameters(), lr=values["learning_rate"])
measure = torch.nn.functional.cross_entropy
if trial["checkpoint"]:
    saved = torch.load(trial["checkpoint"] + "/state.pt", weights_only=True)
    model.load_state_dict(saved["model"])
    optimizer.load_state_dict(saved["optimizer"])
    torch.set_rng_state(saved["rng"])


def train_epoch():
    model.train()
    total = 0.0
    for batch in torch.randperm(len(x[train])).split(64):
        loss = measure(model(x[train][batch]), y[train][batch])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item() * len(batch)
    return total / len(x[train])


@torch.no_grad()
def validate():
    model.eval()
    scores = model(x[valid])
    accuracy = (scores.argmax(1) == y[valid]).float().mean().item()
    return {"accuracy": accuracy, "cross_entropy": measure(scores, y[valid]).item()}


step, order = trial["step"], tell(type="next")
while order["do"] != "stop":
    if order["do"] == "train":
        loss = train_epoch()
        step += 1
        order = tell(type="report", step=step, metrics={"loss": loss})
    elif order["do"] == "validate":
        order = tell(type="validation", step=step, metrics=validate())
    else:
        state = {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "rng": torch.get_rng_state()}
        torch.save(state, order["folder"] + "/state.pt")
        order = tell(type="checkpoint", step=step)
