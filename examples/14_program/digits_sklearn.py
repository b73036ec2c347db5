"""A trial as a Python program: scikit-learn's perceptron on its digits. A step is an epoch."""

import json
import os
import pickle
import socket

from sklearn.datasets import load_digits
from sklearn.neural_network import MLPClassifier

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
x, y = load_digits(return_X_y=True)
x_train, y_train, x_valid, y_valid = x[:1347] / 16, y[:1347], x[1347:] / 16, y[1347:]
if trial["checkpoint"]:
    with open(trial["checkpoint"] + "/model.pickle", "rb") as file:
        model = pickle.load(file)
else:
    model = MLPClassifier((values["hidden"],), learning_rate_init=values["learning_rate"], random_state=trial["seed"])

step, order = trial["step"], tell(type="next")
while order["do"] != "stop":
    if order["do"] == "train":
        model.partial_fit(x_train, y_train, classes=range(10))
        step += 1
        order = tell(type="report", step=step, metrics={"loss": model.loss_})
    elif order["do"] == "validate":
        order = tell(type="validation", step=step, metrics={"accuracy": model.score(x_valid, y_valid)})
    else:
        with open(order["folder"] + "/model.pickle", "wb") as file:
            pickle.dump(model, file)
        order = tell(type="checkpoint", step=step)
