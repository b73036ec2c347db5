"""Peer of decoding.c: CTranslate2, the engine for Transformers on CPUs, by the protocol of regimen_bench.

forms  greedy, and beam (4 hypotheses); each with -int8: weights and activations in 8 bits

The model is made here: the same sizes, norms behind the blocks, random weights. A translation of less than 24
tokens is not allowed and a longer one neither, so no sentence leaves the batch.
"""
import tempfile
import time

import ctranslate2
import numpy
from ctranslate2.specs.model_spec import index_spec

import peer

VOCABULARY, SOURCE, STEPS = 8000, 16, 24
WIDTH, INNER, HEADS, LAYERS = 256, 1024, 4, 3


def shape_of(name, known):
    """The shape of a weight that the empty model names."""
    if name.endswith(("gamma", "beta")):
        return (WIDTH,)
    if "embeddings" in name or name == "decoder/projection/weight":
        return (VOCABULARY, WIDTH)
    if name.endswith("bias"):
        return known[name[:-len("bias")] + "weight"][:1]
    if "ffn/linear_0" in name:
        return (INNER, WIDTH)
    if "ffn/linear_1" in name:
        return (WIDTH, INNER)
    number = int(name.split("linear_")[1].split("/")[0])
    parts = 2 if number == 1 else 1  # of attention over the source: queries, keys and values, output
    if "self_attention" in name:
        parts = 3 if number == 0 else 1
    return (parts * WIDTH, WIDTH)


def fill(spec):
    random, known = numpy.random.default_rng(0), {}
    names = [name for name, value in spec.variables().items() if value is None]
    biases = [name[:-len("weight")] + "bias" for name in names if "linear" in name]
    for name in names + biases:
        shape = known[name] = shape_of(name, known)
        if name.endswith("gamma"):
            value = numpy.ones(shape)
        elif len(shape) == 1:
            value = numpy.zeros(shape)
        else:
            value = random.uniform(-1, 1, shape) * (6 / sum(shape)) ** 0.5
        path, _, last = name.rpartition("/")
        setattr(index_spec(spec, path), last, value.astype(numpy.float32))


def write(folder):
    spec = ctranslate2.specs.TransformerSpec.from_config(LAYERS, HEADS, pre_norm=False)
    fill(spec)
    words = ["<unk>", "<s>", "</s>"] + ["w%d" % i for i in range(3, VOCABULARY)]
    spec.register_source_vocabulary(words)
    spec.register_target_vocabulary(words)
    spec.validate()
    spec.save(folder)
    return words


def main():
    options = peer.arguments(form="greedy")
    search, _, kind = options.form.partition("-")
    with tempfile.TemporaryDirectory() as folder:
        words = write(folder)
        translators = {threads: ctranslate2.Translator(folder, compute_type=kind or "float32", inter_threads=1,
                                                       intra_threads=threads) for threads in (1, 2)}
    random = numpy.random.default_rng(1)
    source = [[words[i] for i in row] for row in random.integers(3, VOCABULARY, (options.size or 32, SOURCE))]
    chosen = {"threads": 1}

    def decode():
        results = translators[chosen["threads"]].translate_batch(
            source, beam_size=4 if search == "beam" else 1, min_decoding_length=STEPS, max_decoding_length=STEPS)
        if any(len(result.hypotheses[0]) != STEPS for result in results):
            raise RuntimeError("a translation has %d tokens" % len(results[0].hypotheses[0]))

    set_threads = lambda threads: chosen.update(threads=threads)
    for count in peer.turns("decode", set_threads, version=ctranslate2.__version__):
        begin = time.perf_counter()
        for _ in range(count):
            decode()
        peer.tell(time.perf_counter() - begin, count)


main()
