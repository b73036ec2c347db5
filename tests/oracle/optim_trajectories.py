"""Where should a small problem be after 1, 10, 50 and 100 updates, for each optimizer and schedule?

optim_trajectories.py            print the fixture (optim_trajectories.txt, which src/optim compares)
optim_trajectories.py --check    compute again and compare with the fixture

Every trajectory is computed in double with numpy, from the formulas of the papers. Those of
optimizers and schedules that PyTorch has are computed by PyTorch too, where it is installed, and
printed from there; the two must agree. PyTorch adds Adam's epsilon after the bias correction, we
before: its epsilon is set anew for each step, divided by sqrt(1 - beta_2^t), which makes the two the
same formula. PyTorch's clip_grad_norm_() adds 1e-6 to the norm, so clipping is not left to it.

A line of JSON is an experiment file's `optimizer` map; the lines after it are the number of updates
and the weights, and after them the averages, if it asks for some.
"""
import json
import math
import os
import sys

try:
    import numpy as np
except ImportError:
    print("SKIPPED: there is no numpy")
    sys.exit(77)
try:
    import torch
except ImportError:
    torch = None

FIXTURE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "optim_trajectories.txt")
STEPS, SHOWN, TOLERANCE = 100, (1, 10, 50, 100), 1e-6


# ---- the problem -----------------------------------------------------------------------------------

def shapes(options):
    """Adafactor's slots depend on the shape, so it also gets a tensor of three axes."""
    return [(2, 3), (2,)] + ([(2, 2, 2)] if options["type"] == "adafactor" else [])


def start(options):
    return [np.cos(3.0 * np.arange(math.prod(shape)) + p).reshape(shape)
            for p, shape in enumerate(shapes(options))]


def gradient(w, p, step):
    """A bowl, and noise that is the same for everybody."""
    i = np.arange(w.size).reshape(w.shape)
    return w * (0.5 + 0.25 * i) + np.sin(31.0 * step + 7.0 * i + p)


def clipped(gradients, options):
    limit = options.get("clip_value", math.inf)
    gradients = [np.clip(g, -limit, limit) for g in gradients]
    norms = [np.linalg.norm(g) for g in gradients]
    if "clip_norm" in options:
        gradients = [g * min(1, options["clip_norm"] / n) for g, n in zip(gradients, norms)]
    if "clip_global_norm" in options:
        scale = min(1, options["clip_global_norm"] / math.hypot(*norms))
        gradients = [g * scale for g in gradients]
    return gradients


# ---- schedules -------------------------------------------------------------------------------------

def decayed(o, step):
    s, kind, first = max(0, step - o.get("offset", 0)), o["type"], o.get("initial")
    length = o.get("decay_steps")
    if kind == "constant":
        return first
    if kind == "stepwise":
        return o["values"][sum(s > b for b in o["boundaries"])]
    if kind == "exponential":
        return first * o["decay_rate"] ** (s // length if o.get("staircase") else s / length)
    if kind == "inverse_time":
        return first / (1 + o["decay_rate"] * s / length)
    if kind == "polynomial":
        if o.get("cycle"):
            length *= max(1, math.ceil(s / length))
        return (first - o["end"]) * (1 - min(s, length) / length) ** o["power"] + o["end"]
    if kind == "cosine":
        floor = o.get("floor", 0)
        return first * ((1 - floor) * 0.5 * (1 + math.cos(math.pi * min(s, length) / length)) + floor)
    if kind == "power":
        return first * max(s, 1) ** o["power"]
    if kind == "power_linear":
        line = (length - s) / (length * o["linear_decay_fraction"])
        return first * max(s, 1) ** o["power"] * max(0, min(1, line))
    if kind == "power_with_offset":
        before = o["pre_offset_rate"]
        return before if s == 0 else min(before, first * max(s, 1) ** o["power"])
    if kind == "step_cosine_with_offset":
        at, values = o["boundaries"], o["values"]
        for b, e, here, there in zip(at, at[1:], values, values[1:]):
            if b <= s < e:
                return there + (here - there) * 0.5 * (1 + math.cos(math.pi * (s - b) / (e - b)))
        return values[0] if s < at[0] else values[-1]
    raise ValueError(kind)


def rate(options, step):
    o = options["learning_rate"]
    w = o.get("warmup", {"steps": 0})
    if step >= w["steps"]:
        return decayed(o, step)
    last = decayed(o, w["steps"])
    if w.get("type") == "polynomial":
        return last * (max(step, 1) / w["steps"]) ** w["power"]
    first = w.get("start", 0)
    return first + step / w["steps"] * (last - first)


# ---- optimizers in numpy; slots are a dictionary for each parameter ---------------------------------

def moving(slots, name, keep, value):
    slots[name] = keep * slots.get(name, 0) + (1 - keep) * value
    return slots[name]


def sgd(o, w, g, slots, lr, t):
    g = g + o.get("weight_decay", 0) * w
    if o.get("momentum"):
        slots["b"] = b = o["momentum"] * slots.get("b", 0) + g
        g = g + o["momentum"] * b if o.get("nesterov") else b
    return w - lr * g


def adam(o, w, g, slots, lr, t):
    b1, b2 = o.get("beta_1", 0.9), o.get("beta_2", 0.999)
    if o["type"] == "adam":
        g = g + o.get("weight_decay", 0) * w
    else:
        w = w - lr * o.get("weight_decay", 4e-3) * w
    m, v = moving(slots, "m", b1, g), moving(slots, "v", b2, g * g)
    if o.get("amsgrad"):
        slots["top"] = v = np.maximum(slots.get("top", 0), v)
    alpha = lr * math.sqrt(1 - b2 ** t) / (1 - b1 ** t)
    return w - alpha * m / (np.sqrt(v) + o.get("epsilon", 1e-7))


def rmsprop(o, w, g, slots, lr, t):
    rho = o.get("rho", 0.9)
    g = g + o.get("weight_decay", 0) * w
    v = moving(slots, "s", rho, g * g)
    if o.get("centered"):
        v = v - moving(slots, "m", rho, g) ** 2
    step = g / (np.sqrt(v) + o.get("epsilon", 1e-7))
    if o.get("momentum"):
        slots["k"] = step = o["momentum"] * slots.get("k", 0) + step
    return w - lr * step


def adagrad(o, w, g, slots, lr, t):
    g = g + o.get("weight_decay", 0) * w
    slots["a"] = a = slots.get("a", o.get("initial_accumulator_value", 0.1)) + g * g
    return w - lr * g / (np.sqrt(a) + o.get("epsilon", 1e-7))


def trust(w, u):
    a, b = np.linalg.norm(w), np.linalg.norm(u)
    return a / b if a > 0 and b > 0 else None


def lamb(o, w, g, slots, lr, t):
    m, v = moving(slots, "m", 0.9, g), moving(slots, "v", 0.999, g * g)
    u = (m / (1 - 0.9 ** t)) / (np.sqrt(v / (1 - 0.999 ** t)) + o.get("epsilon", 1e-6))
    u = u + o.get("weight_decay", 0) * w
    return w - lr * (trust(w, u) or 1) * u


def lars(o, w, g, slots, lr, t):
    mu, eta, ahead = o.get("momentum", 0.9), o.get("trust_coefficient", 1e-3), o.get("nesterov")
    g = g + o.get("weight_decay", 0) * w
    if o.get("classic_momentum", True):
        g = lr * eta * trust(w, g) * g
    slots["v"] = v = mu * slots.get("v", 0) + g
    u = mu * v + g if ahead else v
    return w - u if o.get("classic_momentum", True) else w - lr * eta * trust(w, u) * u


def adafactor(o, w, g, slots, lr, t):
    keep = 1 - t ** -o.get("decay_rate", 0.8)
    square = g * g + 1e-30
    if w.ndim >= 2 and min(w.shape[-2:]) >= o.get("min_dim_size_to_factor", 128):
        r = moving(slots, "r", keep, square.sum(-1))
        c = moving(slots, "c", keep, square.sum(-2))
        v = r[..., :, None] * c[..., None, :] / r.sum(-1)[..., None, None]
    else:
        v = moving(slots, "v", keep, square)
    u = g / np.sqrt(v)
    u = u / max(1, math.sqrt(np.mean(u * u)) / o.get("clipping_threshold", 1))
    if o.get("multiply_by_parameter_scale", True):
        u = u * max(1e-3, math.sqrt(np.mean(w * w)))
    u = lr * u
    if o.get("beta_1"):
        u = moving(slots, "m", o["beta_1"], u)
    return w - lr * o.get("weight_decay", 0) * w - u


NUMPY = {"sgd": sgd, "adam": adam, "adamw": adam, "rmsprop": rmsprop, "adagrad": adagrad,
         "lamb": lamb, "lars": lars, "adafactor": adafactor}


def averaged(averages, weights, o, n):
    keep = o["decay"]
    if n < o.get("start_step", 0):
        keep = 0
    elif o.get("dynamic", True):
        k = n - o.get("start_step", 0)
        keep = min(keep, (1 + k) / (10 + k))
    return [keep * a + (1 - keep) * w for a, w in zip(averages, weights)]


def shown(weights, averages):
    return [float(x) for part in (weights, averages) for w in part for x in np.ravel(w)]


def numpy_trajectory(options):
    weights = start(options)
    averages = weights if "average" in options else []
    slots = [{} for _ in weights]
    result = {}
    for step in range(STEPS):
        gradients = clipped([gradient(w, p, step) for p, w in enumerate(weights)], options)
        weights = [NUMPY[options["type"]](options, w, g, s, rate(options, step), step + 1)
                   for w, g, s in zip(weights, gradients, slots)]
        if averages:
            averages = averaged(averages, weights, options["average"], step + 1)
        if step + 1 in SHOWN:
            result[step + 1] = shown(weights, averages)
    return result


# ---- the same in PyTorch ----------------------------------------------------------------------------

def torch_optimizer(o, weights):
    lr, decay, eps = o["learning_rate"].get("initial", 1), o.get("weight_decay", 0), 1e-7
    betas = (o.get("beta_1", 0.9), o.get("beta_2", 0.999))
    make = {
        "sgd": lambda: torch.optim.SGD(weights, lr, momentum=o.get("momentum", 0), weight_decay=decay,
                                       nesterov=o.get("nesterov", False)),
        "adam": lambda: torch.optim.Adam(weights, lr, betas, weight_decay=decay,
                                         amsgrad=o.get("amsgrad", False)),
        "adamw": lambda: torch.optim.AdamW(weights, lr, betas, weight_decay=o.get("weight_decay", 4e-3),
                                           amsgrad=o.get("amsgrad", False)),
        "rmsprop": lambda: torch.optim.RMSprop(weights, lr, alpha=o.get("rho", 0.9), eps=eps,
                                               weight_decay=decay, momentum=o.get("momentum", 0),
                                               centered=o.get("centered", False)),
        "adagrad": lambda: torch.optim.Adagrad(weights, lr, weight_decay=decay, eps=eps,
                                               initial_accumulator_value=0.1),
    }.get(o["type"])
    return make() if make else None


def torch_schedule(o, optimizer):
    """PyTorch's own scheduler of this kind, or None."""
    s, kind = torch.optim.lr_scheduler, o["type"]
    if kind == "constant" and "warmup" not in o:
        return s.ConstantLR(optimizer, factor=1)
    if kind == "constant" and o["warmup"].get("type") != "polynomial":
        return s.LinearLR(optimizer, o["warmup"]["start"] / o["initial"], 1, o["warmup"]["steps"])
    if "warmup" in o or "offset" in o:
        return None
    if kind == "exponential" and o.get("staircase"):
        return s.StepLR(optimizer, o["decay_steps"], o["decay_rate"])
    if kind == "exponential":
        return s.ExponentialLR(optimizer, o["decay_rate"] ** (1 / o["decay_steps"]))
    if kind == "cosine":
        return s.CosineAnnealingLR(optimizer, o["decay_steps"], o.get("floor", 0) * o["initial"])
    if kind == "polynomial" and o["end"] == 0 and not o.get("cycle"):
        return s.PolynomialLR(optimizer, o["decay_steps"], o["power"])
    if kind == "stepwise":
        for group in optimizer.param_groups:
            group["lr"] = group["initial_lr"] = o["values"][0]
        ratio = o["values"][1] / o["values"][0]
        return s.MultiStepLR(optimizer, [b + 1 for b in o["boundaries"]], ratio)
    return None


def torch_trajectory(options):
    if torch is None or "average" in options:
        return None
    weights = [torch.tensor(w, dtype=torch.float64, requires_grad=True) for w in start(options)]
    optimizer = torch_optimizer(options, weights)
    if optimizer is None:
        return None
    schedule = torch_schedule(options["learning_rate"], optimizer)
    if schedule is None:
        return None
    result = {}
    for step in range(STEPS):
        gradients = clipped([gradient(w.detach().numpy(), p, step) for p, w in enumerate(weights)],
                            options)
        for w, g in zip(weights, gradients):
            w.grad = torch.from_numpy(g)
        if options["type"] in ("adam", "adamw"):
            beta_2 = options.get("beta_2", 0.999)
            for group in optimizer.param_groups:
                group["eps"] = options.get("epsilon", 1e-7) / math.sqrt(1 - beta_2 ** (step + 1))
        optimizer.step()
        schedule.step()
        if step + 1 in SHOWN:
            result[step + 1] = shown([w.detach().numpy() for w in weights], [])
    return result


# ---- cases -------------------------------------------------------------------------------------------

def cases():
    optimizers = [
        {"type": "sgd", "weight_decay": 0.01},
        {"type": "sgd", "momentum": 0.9},
        {"type": "sgd", "momentum": 0.8, "nesterov": True, "weight_decay": 0.1},
        {"type": "adam", "weight_decay": 0.01},
        {"type": "adam", "beta_1": 0.8, "beta_2": 0.99, "epsilon": 1e-3, "amsgrad": True},
        {"type": "adamw", "weight_decay": 0.1, "epsilon": 1e-3},
        {"type": "adamw", "amsgrad": True},
        {"type": "rmsprop", "weight_decay": 0.01},
        {"type": "rmsprop", "rho": 0.8, "momentum": 0.5, "centered": True},
        {"type": "adagrad", "weight_decay": 0.01},
    ]
    schedules = [
        {"type": "constant", "initial": 0.03},
        {"type": "constant", "initial": 0.03, "warmup": {"steps": 20, "start": 0.003}},
        {"type": "stepwise", "boundaries": [9, 40], "values": [0.05, 0.025, 0.0125]},
        {"type": "exponential", "initial": 0.05, "decay_steps": 20, "decay_rate": 0.5},
        {"type": "exponential", "initial": 0.05, "decay_steps": 20, "decay_rate": 0.5, "staircase": True},
        {"type": "polynomial", "initial": 0.05, "decay_steps": 80, "end": 0, "power": 2},
        {"type": "cosine", "initial": 0.05, "decay_steps": 100, "floor": 0.1},
    ]
    for optimizer in optimizers:
        for schedule in schedules:
            yield dict(optimizer, learning_rate=schedule)
    # What PyTorch lacks.
    warm = {"type": "polynomial", "steps": 10, "power": 2}
    others = [
        {"type": "inverse_time", "initial": 0.05, "decay_steps": 10, "decay_rate": 0.5},
        {"type": "polynomial", "initial": 0.05, "decay_steps": 30, "end": 0.01, "power": 1, "cycle": True},
        {"type": "cosine", "initial": 0.05, "decay_steps": 60, "offset": 20, "warmup": {"steps": 30}},
        {"type": "power", "initial": 0.1, "power": -0.5, "warmup": {"steps": 16}},
        {"type": "power_linear", "initial": 0.1, "power": -0.3, "decay_steps": 90,
         "linear_decay_fraction": 0.4, "warmup": warm},
        {"type": "power_with_offset", "initial": 0.1, "power": -0.5, "offset": 15, "pre_offset_rate": 0.04},
        {"type": "step_cosine_with_offset", "boundaries": [5, 30, 60], "values": [0.05, 0.02, 0.01],
         "offset": 10},
    ]
    for schedule in others:
        yield {"type": "sgd", "momentum": 0.9, "learning_rate": schedule}
    cosine, average = schedules[-1], {"decay": 0.9}
    yield {"type": "lamb", "weight_decay": 0.01, "learning_rate": cosine}
    yield {"type": "lamb", "learning_rate": schedules[0], "epsilon": 1e-3, "average": {"decay": 0.9}}
    fast = {"type": "constant", "initial": 20}
    yield {"type": "lars", "weight_decay": 0.01, "learning_rate": fast}
    yield {"type": "lars", "nesterov": True, "learning_rate": dict(cosine, initial=20)}
    yield {"type": "lars", "classic_momentum": False, "weight_decay": 0.01, "learning_rate": fast}
    yield {"type": "lars", "classic_momentum": False, "nesterov": True, "momentum": 0.5,
           "learning_rate": fast, "average": average}
    for o in ({}, {"min_dim_size_to_factor": 2}, {"min_dim_size_to_factor": 2, "beta_1": 0.9,
              "weight_decay": 0.05}, {"min_dim_size_to_factor": 3, "clipping_threshold": 0.5,
              "multiply_by_parameter_scale": False, "decay_rate": 0.6}):
        yield dict({"type": "adafactor", "learning_rate": cosine}, **o)
    for clip in ({"clip_value": 0.5}, {"clip_norm": 0.7}, {"clip_global_norm": 0.7},
                 {"clip_value": 0.8, "clip_norm": 1}, {"clip_value": 0.8, "clip_global_norm": 1}):
        yield dict({"type": "sgd", "momentum": 0.9, "learning_rate": cosine}, **clip)
    for o in ({"decay": 0.9, "start_step": 5}, {"decay": 0.95, "dynamic": False},
              {"decay": 0.99, "start_step": 30, "dynamic": False}):
        yield {"type": "adam", "learning_rate": schedules[0], "average": o}


def far_apart(a, b):
    return max(abs(x - y) / max(1, abs(y)) for x, y in zip(a, b, strict=True))


def compute():
    for options in cases():
        by_numpy, by_torch = numpy_trajectory(options), torch_trajectory(options)
        for step in SHOWN if by_torch else ():
            if far_apart(by_torch[step], by_numpy[step]) > 1e-10:
                sys.exit("PyTorch and numpy differ at step %d of %s" % (step, json.dumps(options)))
        yield json.dumps(options), by_torch or by_numpy, by_torch is not None


def check():
    with open(FIXTURE, encoding="utf-8") as file:
        lines = [line.split("#")[0].strip() for line in file]
    lines = iter([line for line in lines if line])
    count = by_torch = 0
    for text, trajectory, from_torch in compute():
        if next(lines, None) != text:
            sys.exit("the fixture has not, in its place, " + text)
        for step in SHOWN:
            words = next(lines).split()
            if int(words[0]) != step or far_apart([float(x) for x in words[1:]],
                                                  trajectory[step]) > TOLERANCE:
                sys.exit("step %d of %s differs" % (step, text))
        count, by_torch = count + 1, by_torch + from_torch
    if next(lines, None) is not None:
        sys.exit("the fixture has more cases than this script")
    print("%d trajectories agree, %d of them PyTorch's" % (count, by_torch))


if sys.argv[1:] == ["--check"]:
    check()
else:
    print("# Made by optim_trajectories.py, which says what this is.")
    for text, trajectory, _ in compute():
        print(text)
        for step in SHOWN:
            print(step, *("%.17g" % x for x in trajectory[step]))
