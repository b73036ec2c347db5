"""`regimen score` against sacrebleu: corpus and line by line, to 1e-6.

usage: score_oracle.py COMMAND; exits 77 where sacrebleu is not installed. References are the English side
of Multi30k's test set (REGIMEN_DATA), or a few sentences where that is absent. Hypotheses are what
systems get wrong: words dropped, moved, replaced, the line before, the other language, nothing at all;
and lines in many scripts, made to meet the edges of the tokenizers and of case.
"""
import gzip
import json
import logging
import os
import random
import subprocess
import sys
import tempfile

try:
    from sacrebleu.metrics import BLEU, CHRF, TER
except ImportError as error:
    print(f"SKIPPED: sacrebleu is not installed ({error})")
    sys.exit(77)
logging.disable(logging.WARNING)  # its advice on tokenized text and effective order

FEW = [
    "A man in an orange hat starring at something.",
    "A Boston Terrier is running on lush green grass in front of a white fence.",
    "A girl in karate uniform breaking a stick with a front kick.",
    "Five people wearing winter jackets and helmets stand in the snow.",
    "It costs 1,000.50 dollars (about 3-4 times as much), doesn't it?",
    "People are fixing the roof of a house.",
]
PIECES = """a b The the THE cat É ß ΟΔΟΣ ΑΣ. Σας σ İ I ǅ ﬁ 中 文字 。 、 ، ٣ ½ ² € $ + - 1 2 3.5 1,000 12- . .. ,
! ( ) &amp; &lt; &amp;lt; &quot; &amp;amp; & <skipped> < 😀 👨‍👩‍👧 é ́ » « “ ' n't _ / \\ ` ~ مرحبا שלום ไทย हिन्दी
1st x.y 5. (hi) "yes." — … № ™""".split() + ["\u00a0", "\u2003", "\u200b", "\u3000", "\x1c", "\x85", "\ufeffx", ""]


def changed(line, chance):
    """A few words dropped, moved or replaced."""
    words = line.split(" ")
    for _ in range(chance.randrange(5)):
        if len(words) > 1:
            i, kind = chance.randrange(len(words)), chance.randrange(3)
            if kind == 0:
                del words[i]
            elif kind == 1:
                words.insert(chance.randrange(len(words)), words.pop(i))
            else:
                words[i] = chance.choice(["a", "the", "of", "is", "Man", words[i] + "s"])
    return " ".join(words)


def blocks_moved(line, chance):
    words = line.split(" ")
    for _ in range(2):
        start = chance.randrange(len(words))
        end = min(len(words), start + chance.randrange(1, 8))
        block = words[start:end]
        del words[start:end]
        to = chance.randrange(len(words) + 1)
        words[to:to] = block
    return " ".join(words)


def shuffled(line, chance):
    words = line.split(" ")
    chance.shuffle(words)
    return " ".join(words)


def many_scripts(chance):
    return "".join(
        chance.choice(PIECES) + (" " if chance.random() < 0.6 else "") for _ in range(chance.randrange(14))
    )


def few_words(chance, length):
    """Few distinct words: many places to shift each to."""
    return " ".join(chance.choice("abcdefg"[: chance.randrange(2, 8)]) for _ in range(length))


def read(name):
    path = os.path.join(os.environ.get("REGIMEN_DATA", ""), "multi30k-de-en", name)
    if not os.path.exists(path):
        return FEW
    with gzip.open(path, "rt", encoding="utf-8", newline="\n") as file:
        return file.read().split("\n")[:-1]


def run(command, folder, hypotheses, references, options):
    paths = []
    for i, lines in enumerate([hypotheses] + references):
        path = os.path.join(folder, str(i))
        packed = i % 2 == 1
        with (gzip.open if packed else open)(path, "wt", encoding="utf-8", newline="\n") as file:
            file.write("".join(line + "\n" for line in lines))
        paths.append(path)
    refs = [part for path in paths[1:] for part in ("--ref", path)]
    result = subprocess.run(
        [command, "score", "--json", "--sentence", *options, *refs, paths[0]], check=True, capture_output=True
    )
    return json.loads(result.stdout)


def check_close(ours, theirs, what):
    # TER of a line may be large, and nine digits are printed
    if abs(ours - theirs) > max(1e-6, 1e-8 * abs(theirs)):
        sys.exit(f"{what}: ours {ours!r}, sacrebleu {theirs!r}")


def compare(command, name, hypotheses, references, options=(), bleu=None, chrf=None, ter=None):
    """One run of the command against the metrics given as keyword arguments."""
    metrics = {"bleu": BLEU(**bleu) if bleu is not None else None,
               "chrf": CHRF(**chrf) if chrf is not None else None,
               "ter": TER(**ter) if ter is not None else None}
    metrics = {key: metric for key, metric in metrics.items() if metric is not None}
    with tempfile.TemporaryDirectory() as folder:
        got = run(command, folder, hypotheses, references, ["--metrics", ",".join(metrics), *options])
    for key, metric in metrics.items():
        what = f"{name} {key} {' '.join(options)}"
        theirs = metric.corpus_score(hypotheses, references)
        check_close(got[key]["score"], theirs.score, what)
        signature = metric.get_signature().format().rsplit("|", 1)[0]
        if got[key]["signature"] != signature + "|version:regimen-0.1":
            sys.exit(f"{what}: signature {got[key]['signature']}, sacrebleu's {signature}")
        if key == "bleu":
            for ours, wanted in zip(got[key]["precisions"], theirs.precisions):
                check_close(ours, wanted, what + " precision")
            check_close(got[key]["brevity_penalty"], theirs.bp, what + " brevity penalty")
            metric = BLEU(**bleu, effective_order=True)
        for i, (hypothesis, *lines) in enumerate(zip(hypotheses, *references)):
            wanted = metric.sentence_score(hypothesis, lines).score
            check_close(got["sentences"][i][key], wanted, f"{what}: {hypothesis!r} for {lines!r}")
    print(f"{name:16} {len(hypotheses):5} lines, {len(references)} reference(s) {' '.join(options)}", flush=True)


def main():
    command, chance = sys.argv[1], random.Random(1)
    english, german = read("test_2016_flickr.en.gz"), read("test_2016_flickr.de.gz")
    whole = {"bleu": {}, "chrf": {}, "ter": {}}

    sets = {
        "changed": [changed(line, chance) for line in english],
        "the line before": english[-1:] + english[:-1],
        "other language": german,
        "empty lines": ["" if i % 3 == 0 else line for i, line in enumerate(english)],
        "itself": english,
        "blocks moved": [blocks_moved(line, chance) for line in english[:200]],
        "shuffled": [shuffled(line, chance) for line in english[:200]],
    }
    for name, hypotheses in sets.items():
        compare(command, name, hypotheses, [english[: len(hypotheses)]], **whole)
    compare(command, "all empty", [""] * 10, [(english * 2)[:10]], **whole)
    compare(command, "three references", sets["changed"][:200],
            [english[:200], sets["the line before"][:200], [changed(line, chance) for line in english[:200]]],
            **whole)

    scripts = [many_scripts(chance) for _ in range(500)]
    odd = [changed(line, chance) if line else line for line in scripts]
    others = [many_scripts(chance) for _ in scripts]
    for tokenizer in ("13a", "intl", "char", "none"):
        for lowercase in (False, True):
            compare(command, "many scripts", odd, [scripts, others],
                    ["--tokenize", tokenizer] + ["--lowercase"] * lowercase,
                    bleu={"tokenize": tokenizer, "lowercase": lowercase}, chrf={"lowercase": lowercase})
    for smooth in ("floor", "add-k", "none"):
        compare(command, "many scripts", odd[:200], [scripts[:200]], ["--smooth", smooth],
                bleu={"smooth_method": smooth})
    compare(command, "many scripts", odd[:200], [scripts[:200]], ["--smooth", "floor", "--smooth-value", "0.25"],
            bleu={"smooth_method": "floor", "smooth_value": 0.25})
    compare(command, "many scripts", odd, [scripts], ["--word-order", "2"], chrf={"word_order": 2}, ter={})
    compare(command, "many scripts", odd, [scripts], ["--case-sensitive"], ter={"case_sensitive": True})

    for longest, count in ((20, 150), (60, 30), (200, 4)):
        lines = [few_words(chance, chance.randrange(longest)) for _ in range(count)]
        compare(command, "few words", [changed(line, chance) for line in lines], [lines], ter={})
        compare(command, "few other words", [few_words(chance, chance.randrange(longest)) for _ in lines],
                [lines], ter={})
    compare(command, "other lengths", ["a", "a", "a " * 300, "b x"],
            [["b " * 300, "b " * 100 + "a", "a", "a " * 400]], ter={})


main()
