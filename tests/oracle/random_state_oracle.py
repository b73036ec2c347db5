"""Draws of rgm_mt19937 beside NumPy's RandomState: words, bounded integers, units and bytes.

usage: random_state_oracle.py PROGRAM; exits 77 where numpy is not installed. PROGRAM SEED prints words,
then for each bound a line of integers, then units and bytes; RandomState is asked for the same.
"""
import subprocess
import sys

try:
    import numpy as np
except ImportError as error:
    print(f"SKIPPED: numpy is not installed ({error})")
    sys.exit(77)

BOUNDS = (1, 2, 99, 1000, 2**31 - 1, 2**32 - 1, 2**32, 2**40 + 12345, 2**63 - 2)
COUNT = 1500  # more than two turns of the generator


def expected(seed):
    random = np.random.RandomState(seed)
    yield [int(x) for x in random.randint(0, 2**32, COUNT, dtype=np.uint64)]
    for bound in BOUNDS:
        # The legacy stream of randint is the interval of the same generator, one by one.
        yield [int(random.randint(0, bound + 1, dtype=np.int64)) for _ in range(50)]
    yield [float(x).hex() for x in random.random_sample(COUNT)]
    yield [random.bytes(size).hex() for size in (1, 3, 4, 16, 17)]


def main():
    program = sys.argv[1]
    for seed in (0, 1, 42, 123, 2**31 - 1, 2**32 - 1):
        lines = subprocess.run([program, str(seed)], check=True, capture_output=True, text=True).stdout.splitlines()
        for number, (line, want) in enumerate(zip(lines, expected(seed), strict=True)):
            got = line.split()
            if number == len(lines) - 2:
                got = [float.fromhex(x).hex() for x in got]
            if [str(w) for w in want] != got:
                at = next(i for i, (a, b) in enumerate(zip(got, map(str, want))) if a != b)
                sys.exit(f"seed {seed}, line {number + 1}, draw {at + 1}: got {got[at]}, RandomState has {want[at]}")
    print("the same draws as RandomState, of 6 seeds")


main()
