"""The table that privacy_accountant_test.c compares with, computed with many digits.

usage: privacy_reference.py FILE     say whether FILE is the table (exit 77 without mpmath)
       privacy_reference.py > FILE   write it

Nothing clever on purpose: E[(1 - q + q L(z))^a] is integrated as it is written in Mironov, Talwar,
Zhang (2019), for integer orders too. An epsilon is the least over the orders: of every eighth, then of
those about it.
"""
import sys

try:
    from mpmath import exp, log, mp, mpf, pi, quad, sqrt
except ImportError as error:
    print(f"SKIPPED: mpmath is not installed ({error})")
    sys.exit(77)

ORDERS = ([mpf(10 + i) / 10 for i in range(1, 100)] + [mpf(i) for i in range(11, 64)] +
          [mpf(2 ** i) for i in range(7, 11)])
DIVERGENCES = [  # noise multiplier, sample rate, order
    ("1.3", "0.004", "1.1"), ("1.3", "0.004", "1.5"), ("1.3", "0.004", "2"), ("1.3", "0.004", "10.9"),
    ("1.3", "0.004", "17"), ("1.3", "0.004", "63"), ("1.3", "0.004", "128"), ("1", "0.01", "1.1"),
    ("1", "0.01", "3.7"), ("1", "0.5", "1.1"), ("1", "0.5", "4.5"), ("1", "0.5", "1024"),
    ("0.5", "0.1", "1.1"), ("0.5", "0.1", "9.9"), ("0.3", "0.0001", "1.3"), ("0.3", "0.0001", "8.2"),
    ("0.1", "0.01", "1.1"), ("0.1", "0.01", "10.9"), ("0.06", "0.9", "2.5"), ("4", "1e-5", "1.1"),
    ("4", "1e-5", "6.4"), ("4", "1e-5", "40"), ("20", "1e-8", "1.2"), ("20", "1e-8", "1024"),
    ("200", "0.02", "1.1"), ("200", "0.02", "10.1"), ("1", "0.999", "1.1"), ("1", "0.999", "7.3"),
    ("2", "1", "3.3"), ("2", "1", "63"),
]
EPSILONS = [  # noise multiplier, sample rate, steps, delta
    ("1.3", "0.0042666666666666667", 3515, "1e-5"),
    ("0.7", "0.0042666666666666667", 10546, "1e-5"),
    ("1", "0.01", 1000, "1e-6"),
    ("20", "0.001", 100000, "1e-5"),
    ("1", "0.001", 1, "1e-5"),
    ("5", "1", 300, "1e-5"),
    ("1000", "1e-6", 1, "1e-5"),
]


def divergence(sigma, q, a):
    """log E[(1 - q + q L)^a] / (a - 1), split where the integrand has its bumps."""
    def integrand(z):
        ratio = exp((2 * z - 1) / (2 * sigma ** 2))
        return exp(-z ** 2 / (2 * sigma ** 2)) * (1 - q + q * ratio) ** a

    places = {-30 * sigma, a + 30 * sigma}
    for middle in (mpf(0), mpf(2), mpf(a)):
        places |= {middle + k * sigma for k in (-10, -3, 3, 10)}
    if q < 1:
        places.add(sigma ** 2 * log((1 - q) / q) + mpf(1) / 2)
    places = sorted(p for p in places if -30 * sigma <= p <= a + 30 * sigma)
    area = quad(integrand, places) / (sigma * sqrt(2 * pi))
    return log(area) / (a - 1)


def epsilon(sigma, q, steps, delta):
    def at(i):
        a = ORDERS[i]
        rdp = steps * divergence(sigma, q, a)
        if 1 - exp(-rdp) <= delta ** 2:
            return mpf(0)
        return rdp + log((a - 1) / a) - (log(delta) + log(a)) / (a - 1)

    coarse = min(list(range(0, len(ORDERS), 8)) + [len(ORDERS) - 1], key=at)
    near = range(max(0, coarse - 7), min(len(ORDERS), coarse + 8))
    return max(min(at(i) for i in near), mpf(0))


def table():
    yield "/* Written by tests/oracle/privacy_reference.py, with many digits. */"
    yield "static const struct {"
    yield "    double noise_multiplier, sample_rate, order, divergence;"
    yield "} divergences[] = {"
    mp.dps = 45  # log A of rate 1e-8 has lost 20 of them
    for sigma, q, a in DIVERGENCES:
        value = divergence(mpf(sigma), mpf(q), mpf(a))
        yield f"    {{{sigma}, {q}, {a}, {mp.nstr(value, 17)}}},"
    yield "};"
    yield ""
    yield "static const struct {"
    yield "    double noise_multiplier, sample_rate;"
    yield "    int64_t steps;"
    yield "    double delta, epsilon;"
    yield "} epsilons[] = {"
    mp.dps = 25
    for sigma, q, steps, delta in EPSILONS:
        value = epsilon(mpf(sigma), mpf(q), steps, mpf(delta))
        yield f"    {{{sigma}, {q}, {steps}, {delta}, {mp.nstr(value, 17)}}},"
    yield "};"


if __name__ == "__main__":
    want = "\n".join(table()) + "\n"
    if len(sys.argv) == 1:
        sys.stdout.write(want)
    elif open(sys.argv[1], encoding="utf-8").read() != want:
        sys.exit(f"{sys.argv[1]} is not what this program computes")
