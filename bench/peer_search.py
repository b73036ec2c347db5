"""What searches find beside others, on functions and curves that no test uses.

usage: peer_search.py halving|tpe|gp [--ask build/bench/search_ask] [--seeds N] [--only WORD...]

halving: adaptive_asha beside two rules of asynchronous halving, restated here from their documents, on the same made-up
  learning curves with WORKERS workers: loss found and epochs trained with 64 trials, then with as many trials as cost no
  more epochs than Ray's rule with 64. Fails where ours then finds more than theirs does by two standard errors.
tpe, gp: the sampler beside Optuna's of that kind (gp needs torch: scripts/peer.sh search): the lowest value after 60
  trials, one after the other. Fails where ours is worse by two standard errors. --only: functions that begin so.
"""
import argparse
import heapq
import json
import math
import random
import statistics
import subprocess
import sys
import warnings

WORKERS, TRIALS, LONGEST, DIVISOR = 4, 64, 64, 4


# ---- ours, by ask and tell ------------------------------------------------------------------------

class Search:
    """A search of ours: operations that wait, and the values of each trial."""

    def __init__(self, ask, seed, searcher, space):
        self.process = subprocess.Popen([ask, str(seed)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.values, self.waiting = {}, []
        self.say(json.dumps({"hyperparameters": space, "searcher": {"metric": "loss", **searcher}}) + "\n---")

    def say(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        while (answer := self.process.stdout.readline()) not in ("\n", ""):
            operation = json.loads(answer)
            if operation["kind"] == "create":
                self.values[operation["trial"]] = operation["values"]
            elif operation["kind"] == "close":
                self.say(f"closed {operation['trial']}")
            elif operation["kind"] == "validate":
                self.waiting.append((operation["trial"], operation["length"]))
        if self.process.poll():
            sys.exit("search_ask has failed")

    def tell(self, trial, length, metric):
        self.say(f"validated {trial} {length} {metric!r}")

    def end(self):
        self.process.stdin.close()
        if self.process.wait() != 0:
            sys.exit("search_ask has failed")


# ---- halving ----------------------------------------------------------------------------------------

class OurHalving:
    def __init__(self, ask, seed, trials, more):
        self.search = Search(ask, seed, {"name": "adaptive_asha", "max_trials": trials, "max_steps": LONGEST,
                                         "max_concurrent_trials": WORKERS, **more}, {"x": 1})

    def next(self):
        return self.search.waiting.pop(0) if self.search.waiting else None

    def tell(self, trial, length, loss):
        self.search.tell(trial, length, loss)

    def end(self):
        self.search.end()


class Stopping:
    """A trial reports at each rung, and goes on at once or never. `goes_on(loss, earlier)`: the losses that the rung
    has seen before."""

    def __init__(self, trials, goes_on):
        self.left, self.goes_on, self.made, self.ready = trials, goes_on, 0, []
        self.rungs = {DIVISOR ** k: [] for k in range(round(math.log(LONGEST, DIVISOR)) + 1)}

    def next(self):
        if self.ready:
            return self.ready.pop()
        if self.left == 0:
            return None
        self.left -= 1
        self.made += 1
        return self.made, 1

    def tell(self, trial, length, loss):
        earlier = self.rungs[length]
        if length < LONGEST and self.goes_on(loss, earlier):
            self.ready.append((trial, length * DIVISOR))
        earlier.append(loss)

    def end(self):
        pass


def quantile_goes_on(loss, earlier):
    """ray.tune's ASHA: no worse than the quantile 1 / DIVISOR of those before, interpolated; the first goes on."""
    if not earlier:
        return True
    ordered, at = sorted(earlier), (len(earlier) - 1) / DIVISOR
    low = int(at)
    high = min(low + 1, len(ordered) - 1)
    return loss <= ordered[low] + (at - low) * (ordered[high] - ordered[low])


def rank_goes_on(loss, earlier):
    """Optuna's SuccessiveHalvingPruner: among the best 1 / DIVISOR of the rung, itself counted; at least the best."""
    return loss <= sorted(earlier + [loss])[max((len(earlier) + 1) // DIVISOR, 1) - 1]


def curves(draw, family, count):
    """[count] lists of LONGEST losses: a power law towards a floor, both of hidden hyperparameters."""
    noise = 0.15 if family == "noisy" else 0.02
    made = []
    for _ in range(count):
        rate, second, third = -4 + 4 * draw.random(), draw.random(), draw.random()
        floor = 0.05 + 0.1 * (rate + 1.8) ** 2 + 0.35 * second ** 2
        speed, height, late = 0.6, 1.5, 0
        if family == "crossing":  # what learns slowly ends lower
            speed, height = 0.35 + 0.9 * second, 1.2 + third
        elif family == "noisy":
            speed = 0.4 + 0.5 * third
        elif family == "late":  # nothing happens for up to 6 epochs
            late = 6 * third
        made.append([(floor + height * (max(1, t - late)) ** -speed) * math.exp(noise * draw.gauss(0, 1))
                     for t in range(1, LONGEST + 1)])
    return made


def play(rule, made):
    """The lowest loss and the epochs trained, by WORKERS workers of one speed."""
    busy, reached, now, best, epochs = [], {}, 0, math.inf, 0
    while True:
        while len(busy) < WORKERS and (work := rule.next()):
            trial, length = work
            epochs += length - reached.get(trial, 0)
            heapq.heappush(busy, (now + length - reached.get(trial, 0), trial, length))
            reached[trial] = length
        if not busy:
            rule.end()
            return best, epochs
        now, trial, length = heapq.heappop(busy)
        loss = made[trial - 1][length - 1]
        best = min(best, loss)
        rule.tell(trial, length, loss)


def mean(numbers):
    return sum(numbers) / len(numbers)


def halving(ask, seeds):
    rules = {
        "ray": lambda seed, n: Stopping(n, quantile_goes_on),
        "optuna": lambda seed, n: Stopping(n, rank_goes_on),
        "ours": lambda seed, n: OurHalving(ask, seed, n, {}),
        "rule: stop": lambda seed, n: OurHalving(ask, seed, n, {"rule": "stop"}),
        "pedl, standard": lambda seed, n: OurHalving(ask, seed, n, {"rule": "pedl", "mode": "standard"}),
    }
    failed = False
    print("| curves | rule | loss, 64 trials | epochs | trials at Ray's epochs | loss | epochs |\n|---|---|---|---|---|---|---|")
    for family in "plain", "crossing", "noisy", "late":
        made = [curves(random.Random(seed), family, 6 * TRIALS) for seed in range(seeds)]

        def play_all(name, trials):
            games = [play(rules[name](seed, trials), made[seed]) for seed in range(seeds)]
            return [loss for loss, _ in games], mean([epochs for _, epochs in games])

        ray, budget = play_all("ray", TRIALS)
        for name in rules:
            losses, epochs = play_all(name, TRIALS)
            low, high = (TRIALS, 6 * TRIALS) if epochs <= budget else (8, TRIALS - 1)
            while low < high:
                middle = (low + high + 1) // 2
                low, high = (middle, high) if play_all(name, middle)[1] <= budget else (low, middle - 1)
            equal, cost = play_all(name, low)
            print(f"| {family} | {name} | {mean(losses):.4f} | {epochs:.0f} | {low} | {mean(equal):.4f} | {cost:.0f} |", flush=True)
            failed = failed or name == "ours" and worse(equal, ray, paired=True)
    return failed


# ---- samplers ---------------------------------------------------------------------------------------

def box(names, low, high):
    return {name: {"type": "double", "minval": low, "maxval": high} for name in names}


def rosenbrock(v):
    x = [v[name] for name in "abcd"]
    return sum(100 * (x[i + 1] - x[i] ** 2) ** 2 + (1 - x[i]) ** 2 for i in range(3))


def ackley(v):
    x = [v[name] for name in "abcde"]
    return (20 + math.e - 20 * math.exp(-0.2 * math.sqrt(mean([t * t for t in x])))
            - math.exp(mean([math.cos(2 * math.pi * t) for t in x])))


def levy(v):
    w = [1 + (v[name] - 1) / 4 for name in "abc"]
    return (math.sin(math.pi * w[0]) ** 2 + (w[2] - 1) ** 2 * (1 + math.sin(2 * math.pi * w[2]) ** 2)
            + sum((t - 1) ** 2 * (1 + 10 * math.sin(math.pi * t + 1) ** 2) for t in w[:2]))


def optimizers(v):
    """Three optimizers, each with a rate of its own that suits it; the best is good in a part of its own range only."""
    rate = math.log10(v["rate"])
    found = 0.02 * abs(v["layers"] - 3) + 0.015 * (math.log2(v["width"]) - 7) ** 2
    if v["kind"] == "sgd":
        return found + 0.25 + 0.12 * (rate + 1.2) ** 2 + 1.5 * (v["momentum"] - 0.9) ** 2
    if v["kind"] == "adam":
        return found + 0.1 + 0.12 * (rate + 3) ** 2
    return found + 0.12 * (rate + 2) ** 2 + 0.6 * abs(v["trust"] - 0.15)


def dixon_price(v):
    x = [v[name] for name in "abcd"]
    return (x[0] - 1) ** 2 + sum((i + 1) * (2 * x[i] ** 2 - x[i - 1]) ** 2 for i in range(1, 4))


def goldstein_price(v):
    x, y = v["a"], v["b"]
    first = 1 + (x + y + 1) ** 2 * (19 - 14 * x + 3 * x * x - 14 * y + 6 * x * y + 3 * y * y)
    second = 30 + (2 * x - 3 * y) ** 2 * (18 - 32 * x + 12 * x * x + 48 * y - 36 * x * y + 27 * y * y)
    return math.log(first * second) - math.log(3)


def alpine(v):
    return sum(abs(v[name] * math.sin(v[name]) + 0.1 * v[name]) for name in "abcd")


def learners(v):
    """Trees, a linear model and a network, each with hyperparameters of its own; the network is the best, if its rate fits."""
    found = 0.3 * (v["share"] - 0.7) ** 2
    if v["kind"] == "trees":
        return found + 0.15 + 0.01 * abs(v["depth"] - 7) + 0.02 * (math.log10(v["leaf"]) + 1) ** 2
    if v["kind"] == "linear":
        return found + 0.3 + 0.01 * (math.log10(v["penalty"]) + 2) ** 2
    return found + 0.05 + 0.2 * (math.log10(v["rate"]) + 2.7) ** 2 + 0.01 * abs(v["layers"] - 3)


def of_kind(kind, **how):
    return {**how, "when": f"kind == {kind}"}


FUNCTIONS = {
    "Rosenbrock, 4 doubles": (rosenbrock, box("abcd", -2.048, 2.048)),
    "Ackley, 5 doubles": (ackley, box("abcde", -10, 10)),
    "Levy, 3 doubles": (levy, box("abc", -10, 10)),
    "optimizers, conditional": (optimizers, {
        "kind": {"type": "categorical", "vals": ["sgd", "adam", "lamb"]},
        "layers": {"type": "int", "minval": 1, "maxval": 8}, "width": {"type": "int", "minval": 8, "maxval": 512},
        "rate": {"type": "log", "base": 10, "minval": -5, "maxval": 0},
        "momentum": of_kind("sgd", type="double", minval=0, maxval=1),
        "trust": of_kind("lamb", type="double", minval=0, maxval=1)}),
    # These four were not looked at while anything was chosen:
    "Dixon-Price, 4 doubles": (dixon_price, box("abcd", -10, 10)),
    "log Goldstein-Price, 2 doubles": (goldstein_price, box("ab", -2, 2)),
    "Alpine, 4 doubles": (alpine, box("abcd", -10, 10)),
    "learners, conditional": (learners, {
        "kind": {"type": "categorical", "vals": ["trees", "linear", "net"]}, "share": {"type": "double", "minval": 0, "maxval": 1},
        "depth": of_kind("trees", type="int", minval=1, maxval=15), "leaf": of_kind("trees", type="log", base=10, minval=-4, maxval=0),
        "penalty": of_kind("linear", type="log", base=10, minval=-6, maxval=2),
        "rate": of_kind("net", type="log", base=10, minval=-6, maxval=0), "layers": of_kind("net", type="int", minval=1, maxval=8)}),
}


def ours(ask, seed, sampler, trials, function, space):
    search = Search(ask, seed, {"name": "random", "max_trials": trials, "max_steps": 1, "max_concurrent_trials": 1,
                                "sampler": sampler}, space)
    best = math.inf
    while search.waiting:
        trial, length = search.waiting.pop(0)
        best = min(best, value := function(search.values[trial]))
        search.tell(trial, length, value)
    search.end()
    return best


def theirs(seed, sampler, trials, function, space):
    import optuna
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    warnings.simplefilter("ignore")

    def objective(trial):
        values = {}
        for name, how in space.items():
            if "when" in how and values["kind"] != how["when"].split(" == ")[1]:
                continue
            if how["type"] == "categorical":
                values[name] = trial.suggest_categorical(name, how["vals"])
            elif how["type"] == "int":
                values[name] = trial.suggest_int(name, how["minval"], how["maxval"])
            elif how["type"] == "log":
                values[name] = trial.suggest_float(name, how["base"] ** how["minval"], how["base"] ** how["maxval"], log=True)
            else:
                values[name] = trial.suggest_float(name, how["minval"], how["maxval"])
        return function(values)

    kinds = {"tpe": optuna.samplers.TPESampler, "gp": optuna.samplers.GPSampler}
    study = optuna.create_study(sampler=kinds[sampler](seed=seed))
    study.optimize(objective, n_trials=trials)
    return study.best_value


def worse(a, b, paired=False):
    """Whether the mean of a is above that of b by more than two standard errors."""
    if paired:
        difference = [x - y for x, y in zip(a, b)]
        return mean(difference) > 2 * statistics.stdev(difference) / math.sqrt(len(a))
    return mean(a) > mean(b) + 2 * math.sqrt((statistics.variance(a) + statistics.variance(b)) / len(a))


def samplers(sampler, ask, seeds, only):
    failed = False
    print(f"| function | {sampler} | Optuna's |\n|---|---|---|")
    for name, (function, space) in FUNCTIONS.items():
        if only and not name.startswith(tuple(only)):
            continue
        a = [ours(ask, seed, sampler, 60, function, space) for seed in range(seeds)]
        b = [theirs(seed, sampler, 60, function, space) for seed in range(seeds)]
        print(f"| {name} | {mean(a):.4f} ± {statistics.stdev(a):.4f} | {mean(b):.4f} ± {statistics.stdev(b):.4f} |", flush=True)
        failed = failed or worse(a, b)
    return failed


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("what", choices=["halving", "tpe", "gp"])
    parser.add_argument("--ask", default="build/bench/search_ask")
    parser.add_argument("--seeds", type=int)
    parser.add_argument("--only", nargs="+")
    options = parser.parse_args()
    if options.what == "halving":
        return halving(options.ask, options.seeds or 60)
    return samplers(options.what, options.ask, options.seeds or 40, options.only)


if __name__ == "__main__":
    sys.exit(main())
