"""What searches find beside others, on functions and curves that no test uses.

usage: peer_search.py halving|tpe|gp|cma|bbob|zdt|between [--ask build/bench/search_ask] [--seeds N] [--only WORD...]

halving: adaptive_asha beside two rules of asynchronous halving, restated here from their documents, on the same made-up
  learning curves with WORKERS workers: loss found and epochs trained with 64 trials, then with as many trials as cost no
  more epochs than Ray's rule with 64. Fails where ours then finds more than theirs does by two standard errors.
tpe, gp, cma: the sampler beside Optuna's of that kind (gp needs torch: scripts/peer.sh search): the lowest value after 60
  trials, one after the other. Fails where ours is worse by two standard errors. --only: functions that begin so.
bbob: ten functions of COCO's suite bbob in five dimensions, two of each of its groups, each with instances 1 to N (20):
  what a method finds in EVALUATIONS evaluations above the minimum, its mean rank among all methods, ours and Optuna's.
  bohb and Optuna's TPE with its Hyperband pruner see shorter trials with noise, and take as many epochs in all as the
  others' evaluations. --only: methods, each as "tpe" or "Optuna's tpe". Fails where a method of ours ranks behind
  Optuna's of that name by two standard errors.
between: the time between trials of a program that drives itself, `regimen search stream` beside Optuna's ask and tell,
  the same objective, 200 trials, each kept on disk: milliseconds a trial, their ratio, and what was found. Fails where
  ours takes more than a tenth of the time that Optuna takes with its quicker storage on disk. --only: random or tpe.
zdt: nsga2 beside Optuna's NSGA-II on ZDT1, ZDT2, ZDT3 and a constrained problem (BNH): hypervolume after 400 trials.
"""
import argparse
import heapq
import json
import math
import random
import os
import statistics
import subprocess
import sys
import tempfile
import time
import warnings

WORKERS, TRIALS, LONGEST, DIVISOR = 4, 64, 64, 4


# ---- ours, by ask and tell ------------------------------------------------------------------------

class Search:
    """A search of ours: operations that wait, and the values of each trial."""

    def __init__(self, ask, seed, searcher, space):
        self.process = subprocess.Popen([ask, str(seed)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.values, self.waiting = {}, []
        self.say(json.dumps({"hyperparameters": space, "searcher": searcher if "metrics" in searcher else {"metric": "loss", **searcher}}) + "\n---")

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

    def tell(self, trial, length, *metrics):
        self.say(f"validated {trial} {length} " + " ".join(map(repr, metrics)))

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


def quiet(optuna):
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    warnings.simplefilter("ignore")


def theirs(seed, sampler, trials, function, space):
    import optuna
    quiet(optuna)

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

    kinds = {"tpe": optuna.samplers.TPESampler, "gp": optuna.samplers.GPSampler, "cma": optuna.samplers.CmaEsSampler,
             "random": optuna.samplers.RandomSampler}
    study = optuna.create_study(sampler=kinds[sampler](seed=seed))
    study.optimize(objective, n_trials=trials)
    return study.best_value


# ---- COCO's functions -------------------------------------------------------------------------------

EVALUATIONS, EPOCHS = 100, 27
BBOB = [1, 3, 6, 8, 10, 13, 15, 17, 20, 21]


class Problem:
    """One of COCO's functions: how far above its minimum a point is, and that with the noise of a short trial."""

    def __init__(self, number, instance):
        import cocoex
        self.function = cocoex.BareProblem("bbob", number, 5, instance)
        self.least, self.seed = self.function.best_value(), number * 1000 + instance
        self.space = box("abcde", -5, 5)

    def __call__(self, values):
        return self.function([values[name] for name in "abcde"]) - self.least

    def after(self, values, epochs):
        """With a deviation of 60 % after one epoch, of none after all."""
        noise = random.Random(f"{self.seed} {sorted(values.items())} {epochs}").gauss(0, 1)
        return self(values) * math.exp(0.6 * math.sqrt((1 / epochs - 1 / EPOCHS) / (1 - 1 / EPOCHS)) * noise)


def our_bohb(ask, seed, problem):
    search = Search(ask, seed, {"name": "bohb", "max_trials": 20 * EVALUATIONS, "max_length": EPOCHS, "max_rungs": 4,
                                "max_concurrent_trials": 1}, problem.space)
    best, left, reached = math.inf, EVALUATIONS * EPOCHS, {}
    while search.waiting and left > 0:
        trial, length = search.waiting.pop(0)
        left -= length - reached.get(trial, 0)
        reached[trial] = length
        values = search.values[trial]
        if length == EPOCHS:
            best = min(best, problem(values))
        search.tell(trial, length, problem.after(values, length))
    search.end()
    return best


def their_hyperband(seed, problem):
    import optuna
    quiet(optuna)
    study = optuna.create_study(sampler=optuna.samplers.TPESampler(seed=seed), study_name=str(seed),
                                pruner=optuna.pruners.HyperbandPruner(min_resource=1, max_resource=EPOCHS, reduction_factor=3))
    best, left = math.inf, EVALUATIONS * EPOCHS
    while left > 0:
        trial = study.ask()
        values = {name: trial.suggest_float(name, -5, 5) for name in problem.space}
        for epochs in range(1, EPOCHS + 1):
            left -= 1
            value = problem.after(values, epochs)
            trial.report(value, epochs)
            if epochs == EPOCHS:
                best = min(best, problem(values))
                study.tell(trial, value)
            elif trial.should_prune():
                study.tell(trial, state=optuna.trial.TrialState.PRUNED)
                break
    return best


def ranks_of(found):
    """Of numbers, from 1; equal ones share the mean of theirs."""
    ordered = sorted(found)
    return [ordered.index(x) + (ordered.count(x) + 1) / 2 for x in found]


def bbob(ask, seeds, only):
    methods = {}
    for name in "random", "tpe", "gp", "cma":
        methods[name] = lambda seed, problem, name=name: ours(ask, seed, name, EVALUATIONS, problem, problem.space)
        methods[f"Optuna's {name}"] = lambda seed, problem, name=name: theirs(seed, name, EVALUATIONS, problem, problem.space)
    methods["bohb"] = lambda seed, problem: our_bohb(ask, seed, problem)
    methods["Optuna's bohb"] = lambda seed, problem: their_hyperband(seed, problem)
    names = only or list(methods)
    print("| function | " + " | ".join(names) + " |\n|---|" + "---|" * len(names))
    ranks = {name: [] for name in names}
    for number in BBOB:
        found = {name: [] for name in names}
        for seed in range(seeds):
            problem = Problem(number, seed + 1)
            for name in names:
                found[name].append(methods[name](seed, problem))
            for name, rank in zip(names, ranks_of([found[name][-1] for name in names])):
                ranks[name].append(rank)
        print(f"| f{number} | " + " | ".join(f"{statistics.median(found[name]):.3g}" for name in names) + " |", flush=True)
    print("| mean rank | " + " | ".join(f"{mean(ranks[name]):.2f}" for name in names) + " |", flush=True)
    return any(worse(ranks[name], ranks[f"Optuna's {name}"], paired=True) for name in names if f"Optuna's {name}" in ranks and name != "random")


# ---- several metrics --------------------------------------------------------------------------------

def zdt(number):
    def function(v):
        x = [v[name] for name in sorted(v)]
        g = 1 + 9 * mean(x[1:])
        share = x[0] / g
        h = 1 - math.sqrt(share) if number != 2 else 1 - share ** 2
        return x[0], g * (h - share * math.sin(10 * math.pi * x[0]) if number == 3 else h)
    return function


def binh_korn(v):
    """Two metrics, two bounds (at most 0)."""
    x, y = v["a"], v["b"]
    return 4 * x * x + 4 * y * y, (x - 5) ** 2 + (y - 5) ** 2, (x - 5) ** 2 + y * y - 25, 7.7 - (x - 8) ** 2 - (y + 3) ** 2


FRONTS = {"ZDT1, 10 doubles": (zdt(1), box("abcdefghij", 0, 1), (1.1, 6)), "ZDT2, 10 doubles": (zdt(2), box("abcdefghij", 0, 1), (1.1, 6)),
          "ZDT3, 10 doubles": (zdt(3), box("abcdefghij", 0, 1), (1.1, 6)),
          "Binh & Korn, 2 doubles, 2 bounds": (binh_korn, {"a": box("a", 0, 5)["a"], "b": box("b", 0, 3)["b"]}, (140, 50))}


def volume(found, corner):
    """The area that points (two metrics, then bounds) take away below a corner; what breaks a bound takes none."""
    area, low = 0, corner[1]
    for x, y in sorted({p[:2] for p in found if all(b <= 0 for b in p[2:])}):
        if x < corner[0] and y < low:
            area += (corner[0] - x) * (low - y)
            low = y
    return area


def our_front(ask, seed, trials, function, space):
    bounds = len(function({name: how["minval"] for name, how in space.items()})) - 2
    metrics = [{"name": "m0"}, {"name": "m1"}] + [{"name": f"b{i}", "at_most": 0} for i in range(bounds)]
    search = Search(ask, seed, {"name": "random", "metrics": metrics, "max_trials": trials, "max_steps": 1,
                                "max_concurrent_trials": 1, "sampler": "nsga2"}, space)
    found = []
    while search.waiting:
        trial, length = search.waiting.pop(0)
        found.append(function(search.values[trial]))
        search.tell(trial, length, *found[-1])
    search.end()
    return found


def their_front(seed, trials, function, space):
    import optuna
    quiet(optuna)
    study = optuna.create_study(directions=["minimize", "minimize"],
                                sampler=optuna.samplers.NSGAIISampler(seed=seed, constraints_func=lambda t: t.user_attrs["bounds"]))
    found = []

    def objective(trial):
        found.append(function({name: trial.suggest_float(name, how["minval"], how["maxval"]) for name, how in space.items()}))
        trial.set_user_attr("bounds", found[-1][2:])
        return found[-1][:2]

    study.optimize(objective, n_trials=trials)
    return found


def fronts(ask, seeds, only):
    failed = False
    print("| problem | nsga2 | Optuna's |\n|---|---|---|")
    for name, (function, space, corner) in FRONTS.items():
        if only and not name.startswith(tuple(only)):
            continue
        a = [volume(our_front(ask, seed, 400, function, space), corner) for seed in range(seeds)]
        b = [volume(their_front(seed, 400, function, space), corner) for seed in range(seeds)]
        print(f"| {name} | {mean(a):.4f} ± {statistics.stdev(a):.4f} | {mean(b):.4f} ± {statistics.stdev(b):.4f} |", flush=True)
        failed = failed or worse(b, a)
    return failed


# ---- between trials -----------------------------------------------------------------------------------

BETWEEN_TRIALS, BETWEEN_SPACE = 200, {f"x{i}": {"type": "double", "minval": -2.0, "maxval": 2.0} for i in range(5)}


def between_objective(values):
    return sum((x - 0.3 * i) ** 2 for i, x in enumerate(values[name] for name in BETWEEN_SPACE))


def our_between(regimen, seed, sampler, folder):
    """Seconds a trial outside of the objective, and the best."""
    search = os.path.join(folder, "search.yaml")
    with open(search, "w") as file:
        json.dump({"hyperparameters": BETWEEN_SPACE, "reproducibility": {"experiment_seed": seed},
                   "searcher": {"name": "random", "sampler": sampler, "metric": "loss", "max_length": 1,
                                "max_trials": BETWEEN_TRIALS, "max_concurrent_trials": 1}}, file)
    process = subprocess.Popen([regimen, "search", "stream", os.path.join(folder, "study.json"), "--file", search],
                               stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def say(**line):
        process.stdin.write(json.dumps(line) + "\n")
        process.stdin.flush()
        return json.loads(process.stdout.readline())

    best, begin = math.inf, time.perf_counter()
    while "trial" in (piece := say(type="ask")):
        best = min(best, loss := between_objective(piece["hyperparameters"]))
        say(type="tell", trial=piece["trial"], to=piece["to"], metrics={"loss": loss})
    seconds = time.perf_counter() - begin
    say(type="end")
    if process.wait() != 0:
        sys.exit("regimen search stream has failed")
    return seconds / BETWEEN_TRIALS, best


def their_between(seed, sampler, storage):
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    warnings.filterwarnings("ignore")
    made = {"random": optuna.samplers.RandomSampler, "tpe": optuna.samplers.TPESampler}[sampler](seed=seed)
    study = optuna.create_study(sampler=made, storage=storage)
    best, begin = math.inf, time.perf_counter()
    for _ in range(BETWEEN_TRIALS):
        trial = study.ask()
        loss = between_objective({name: trial.suggest_float(name, how["minval"], how["maxval"])
                                  for name, how in BETWEEN_SPACE.items()})
        best = min(best, loss)
        study.tell(trial, loss)
    return (time.perf_counter() - begin) / BETWEEN_TRIALS, best


def between(regimen, seeds, only):
    from optuna.storages import JournalStorage
    from optuna.storages.journal import JournalFileBackend

    failed = False
    print("| sampler | stream, ms | Optuna, journal | Optuna, SQLite | Optuna, in memory | ours / the quicker on disk | found | Optuna's |")
    print("|---|---|---|---|---|---|---|---|")
    for sampler in ("random", "tpe"):
        if only and not sampler.startswith(tuple(only)):
            continue
        took = {"ours": [], "journal": [], "sqlite": [], "memory": []}
        found = {"ours": [], "journal": [], "sqlite": [], "memory": []}
        for seed in range(seeds):
            with tempfile.TemporaryDirectory(dir=".") as folder:
                storages = {"journal": JournalStorage(JournalFileBackend(os.path.join(folder, "journal"))),
                            "sqlite": f"sqlite:///{folder}/study.db", "memory": None}
                for name in took:
                    seconds, best = our_between(regimen, seed, sampler, folder) if name == "ours" else \
                        their_between(seed, sampler, storages[name])
                    took[name].append(1000 * seconds)
                    found[name].append(best)
        ms = {name: statistics.median(times) for name, times in took.items()}
        ratio = ms["ours"] / min(ms["journal"], ms["sqlite"])
        print(f"| {sampler} | {ms['ours']:.2f} | {ms['journal']:.2f} | {ms['sqlite']:.1f} | {ms['memory']:.2f} | {ratio:.3f} | "
              f"{mean(found['ours']):.3f} | {mean(found['memory']):.3f} |", flush=True)
        failed = failed or ratio > 0.1
    return failed


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
    parser.add_argument("what", choices=["halving", "tpe", "gp", "cma", "bbob", "zdt", "between"])
    parser.add_argument("--ask", default="build/bench/search_ask")
    parser.add_argument("--regimen", default="build/regimen")
    parser.add_argument("--seeds", type=int)
    parser.add_argument("--only", nargs="+")
    options = parser.parse_args()
    if options.what == "halving":
        return halving(options.ask, options.seeds or 60)
    if options.what == "between":
        return between(options.regimen, options.seeds or 5, options.only)
    if options.what in ("bbob", "zdt"):
        return {"bbob": bbob, "zdt": fronts}[options.what](options.ask, options.seeds or 20, options.only)
    return samplers(options.what, options.ask, options.seeds or 40, options.only)


if __name__ == "__main__":
    sys.exit(main())
