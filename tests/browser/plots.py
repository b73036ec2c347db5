"""What a plot shows, read back from its picture: the paths' points through the scales that the axes tell."""
import json
import math
import re

from browser import Failure

READ = """(() => {
    const figure = [...document.querySelectorAll('figure.chart')].find(f => f.querySelector('h3')?.textContent === %s);
    const svg = figure?.querySelector('svg.plot');
    if (!svg) return null;
    const axis = side => { const a = svg.querySelector('.axis.' + side)?.dataset;
        return a && {scale: a.scale, domain: JSON.parse(a.domain), range: JSON.parse(a.range)}; };
    return {x: axis('x'), y: axis('y'),
        lines: [...svg.querySelectorAll('path.line[data-series]')].map(p => [p.dataset.series, p.getAttribute('d'), p.getAttribute('stroke')]),
        points: [...svg.querySelectorAll('circle.point')].map(c => [+c.getAttribute('cx'), +c.getAttribute('cy')]),
        best: [...svg.querySelectorAll('[data-best]')].map(c => [c.dataset.best, +c.getAttribute('cx'), +c.getAttribute('cy')])};
})()"""


def titles(page):
    return page.js("[...document.querySelectorAll('figure.chart h3')].map(h => h.textContent)")


def inverse(axis):
    """From the picture's unit to the value's, as the axis says."""
    (low, high), (begin, end) = axis["domain"], axis["range"]
    if axis["scale"] == "log":
        low, high = math.log(low), math.log(high)
    back = (lambda v: math.exp(v)) if axis["scale"] == "log" else (lambda v: v)
    return lambda at: back(low + (at - begin) / (end - begin) * (high - low))


def path_points(d):
    """The corners of a path of straight lines."""
    if re.search(r"[^MLZ\d.,\seE+-]", d or ""):
        raise Failure(f"not a path of straight lines: {d[:100]}")
    return [(float(x), float(y)) for x, y in re.findall(r"[ML]\s*([-+\d.eE]+)[,\s]([-+\d.eE]+)", d or "")]


def read(page, title):
    """{"lines": {name: [(x, y)]}, "best": {name: (x, y)}, "x": axis, "y": axis} of the plot of this title."""
    found = page.js(READ % json.dumps(title))
    if not found:
        raise Failure(f"there is no plot '{title}' among {titles(page)}")
    x, y = inverse(found["x"]), inverse(found["y"])
    lines = {name: [(x(a), y(b)) for a, b in path_points(d)] for name, d, _ in found["lines"]}
    best = {name: (x(a), y(b)) for name, a, b in found["best"]}
    return {"lines": lines, "best": best, "x": found["x"], "y": found["y"], "colours": {n: c for n, _, c in found["lines"]}}


def unit(axis):
    """What a pixel is worth on this axis, for linear ones; of a logarithmic one the share of the value."""
    low, high = axis["domain"]
    span = math.log(high / low) if axis["scale"] == "log" else high - low
    return abs(span / (axis["range"][1] - axis["range"][0]))


def same(got, want, plot, pixels=0.02):
    """The drawn points are these, to a fiftieth of a pixel; what differs, or None."""
    if len(got) != len(want):
        return f"{len(got)} points drawn, {len(want)} measured"
    for (x, y), (a, b) in zip(got, want):
        for value, right, axis in ((x, a, plot["x"]), (y, b, plot["y"])):
            wrong = abs(math.log(value / right)) if axis["scale"] == "log" else abs(value - right)
            if wrong > pixels * unit(axis):
                return f"({x:g}, {y:g}) is drawn where ({a:g}, {b:g}) was measured"
    return None


def smoothed(values, weight):
    """TensorBoard's smoothing, written again: an exponential mean without the bias of its beginning."""
    mean, out = 0.0, []
    for i, value in enumerate(values, 1):
        mean = mean * weight + (1 - weight) * value
        out.append(mean / (1 - weight ** i))
    return out
