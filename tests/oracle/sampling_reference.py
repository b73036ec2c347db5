"""What Transformers' logits processors leave of logits: the table of src/sequence/sampling_reference.h.

usage: sampling_reference.py HEADER           exits 1 when the header is another; 77 without transformers or torch
       sampling_reference.py HEADER --write   writes it

The order is that of generate(): repetition penalty, temperature, top-k, top-p, min-p.
"""
import random
import sys

try:
    import torch
    from transformers.generation import logits_process as process
except Exception as error:  # whatever either of them lacks
    print(f"SKIPPED: transformers or torch is not installed ({error})")
    sys.exit(77)

TOKENS = 12
CASES = [  # temperature, top_k, top_p, min_p, repetition_penalty
    (1, 0, 1, 0, 1), (0.7, 0, 1, 0, 1), (1, 3, 1, 0, 1), (1, 1, 1, 0, 1), (1, 0, 0.6, 0, 1), (1.3, 0, 0.9, 0, 1),
    (1, 0, 0.01, 0, 1), (1, 0, 1, 0.2, 1), (0.5, 0, 1, 0.05, 1), (1, 0, 1, 0, 1.4), (1, 0, 1, 0, 0.8),
    (0.9, 5, 0.8, 0.1, 1.2), (1.5, 8, 0.95, 0.02, 1.1), (0.6, 4, 0.7, 0.3, 1.5), (2, 11, 0.99, 0, 2),
]


def left(logits, before, case):
    temperature, top_k, top_p, min_p, penalty = case
    ids, scores = torch.tensor([before]), torch.tensor([logits], dtype=torch.float64)
    steps = []
    if penalty != 1:
        steps.append(process.RepetitionPenaltyLogitsProcessor(float(penalty)))
    if temperature != 1:
        steps.append(process.TemperatureLogitsWarper(float(temperature)))
    if top_k:
        steps.append(process.TopKLogitsWarper(top_k))
    if top_p < 1:
        steps.append(process.TopPLogitsWarper(float(top_p)))
    if min_p:
        steps.append(process.MinPLogitsWarper(float(min_p)))
    for step in steps:
        scores = step(ids, scores)
    return torch.softmax(scores, -1)[0].tolist()


def table():
    chance = random.Random(8)
    lines = [
        "/* Printed by tests/oracle/sampling_reference.py: logits, and the probabilities that the logits processors of",
        " * Transformers leave of them. */", "static const struct {",
        "    double temperature, top_p, min_p, penalty;", "    int64_t top_k;", "    int32_t before[6];",
        f"    float logits[{TOKENS}];", f"    double left[{TOKENS}];", "} sampling_reference[] = {",
    ]
    for case in CASES:
        logits = [round(chance.gauss(0, 2), 3) for _ in range(TOKENS)]
        before = [chance.randrange(TOKENS) for _ in range(6)]
        probabilities = ", ".join(f"{p:.12g}" for p in left(logits, before, case))
        lines += [f"    {{{case[0]}, {case[2]}, {case[3]}, {case[4]}, {case[1]},",
                  f"     {{{', '.join(map(str, before))}}},",
                  f"     {{{', '.join(f'{x}F' for x in logits)}}},", f"     {{{probabilities}}}}},"]
    return "// clang-format off\n" + "\n".join(lines) + "\n};\n// clang-format on\n"


if sys.argv[2:] == ["--write"]:
    with open(sys.argv[1], "w", encoding="utf-8") as file:
        file.write(table())
else:
    with open(sys.argv[1], encoding="utf-8") as file:
        if file.read() != table():
            sys.exit(f"{sys.argv[1]} is not what Transformers says: print it again with --write")
