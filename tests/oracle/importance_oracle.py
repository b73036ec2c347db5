"""Importance of hyperparameters by Optuna's functional analysis of variance, for the same trials.

usage: importance_oracle.py PROGRAM; exits 77 where optuna or scikit-learn is not installed.

Both grow 64 bagged trees, but from other draws; Optuna's shares are of what single hyperparameters explain,
ours of all. So ours are brought to the sum 1, and must be within TOLERANCE of its mean over two seeds.
"""
import json
import math
import subprocess
import sys
import warnings

try:
    import optuna
    from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution
    from optuna.importance import FanovaImportanceEvaluator
except ImportError as error:
    print(f"SKIPPED: optuna is not installed ({error})")
    sys.exit(77)

TOLERANCE, SEEDS = 0.04, range(2)
UNIT, ANGLE = FloatDistribution(0, 1), FloatDistribution(-3.14159265, 3.14159265)
LOGS = ("decay", "rate")  # Optuna's analysis has no scale but the linear one: it gets their exponents
SPACES = {
    "linear": dict.fromkeys("abc", UNIT),
    "ishigami": dict.fromkeys("abc", ANGLE),
    "mixed": {
        "decay": FloatDistribution(-6, -2),
        "kind": CategoricalDistribution(["gcn", "gat", "sage"]),
        "layers": IntDistribution(1, 12),
        "rate": FloatDistribution(-5, 0),
    },
    "interaction": dict.fromkeys("abc", UNIT),
}


def theirs(trials, space):
    study = optuna.create_study()
    for trial in trials:
        params = {name: math.log10(value) if name in LOGS else value for name, value in trial["values"].items()}
        study.add_trial(optuna.trial.create_trial(params=params, distributions=space, value=trial["key"]))
    found = [FanovaImportanceEvaluator(seed=seed).evaluate(study, params=list(space)) for seed in SEEDS]
    means = {name: sum(one[name] for one in found) / len(found) for name in space}
    total = sum(means.values())
    return {name: mean / total for name, mean in means.items()}


def main(program):
    warnings.simplefilter("ignore")
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    lines = [json.loads(line) for line in subprocess.run([program], check=True, stdout=subprocess.PIPE).stdout.splitlines()]
    farthest = 0
    for problem, space in SPACES.items():
        own = [line for line in lines if line["problem"] == problem]
        ours = next(line["shares"] for line in own if "shares" in line)
        want = theirs([line for line in own if "key" in line], space)
        total = sum(ours.values())
        for name in space:
            got = ours[name] / total
            print(f"{problem:12} {name:8} ours {got:.4f} theirs {want[name]:.4f}")
            farthest = max(farthest, abs(got - want[name]))
    print(f"farthest apart: {farthest:.4f}, allowed {TOLERANCE}")
    return 1 if farthest > TOLERANCE else 0


sys.exit(main(sys.argv[1]))
