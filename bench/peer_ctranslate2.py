"""Peer of decoding.c and served.c: CTranslate2, the engine for Transformers on CPUs, by the protocol of
regimen_bench.

forms  greedy, and beam (4 hypotheses); each with -int8: weights and activations in 8 bits

decode    The model is made here: the same sizes, norms behind the blocks, random weights. A translation of less
          than 24 tokens is not allowed and a longer one neither, so no sentence leaves the batch.
served    The model of `regimen_bench make-served`, of the folder --data, and its sentences, in batches by tokens.
quantize  Writes that model in 8 bits beside it, as CTranslate2's own converters keep it, and ends.
"""
import os
import shutil
import struct
import tempfile
import time

import ctranslate2

import peer

# numpy is imported where a model is made: who only translates need not have its memory.

VOCABULARY, SOURCE, STEPS = 8000, 16, 24
WIDTH, INNER, HEADS, LAYERS = 256, 1024, 4, 3
BATCH_TOKENS = 512  # of served
FLOAT32, INT8 = 0, 1  # in model.bin


# ---- a model of random weights -----------------------------------------------------------------------


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
    import numpy
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
        setattr(ctranslate2.specs.model_spec.index_spec(spec, path), last, value.astype(numpy.float32))


def write(folder):
    spec = ctranslate2.specs.TransformerSpec.from_config(LAYERS, HEADS, pre_norm=False)
    fill(spec)
    words = ["<unk>", "<s>", "</s>"] + ["w%d" % i for i in range(3, VOCABULARY)]
    spec.register_source_vocabulary(words)
    spec.register_target_vocabulary(words)
    spec.validate()
    spec.save(folder)
    return words


# ---- a model in 8 bits ---------------------------------------------------------------------------------


def variable(name, shape, kind, data):
    name = name.encode() + b"\0"
    return struct.pack("<H", len(name)) + name + struct.pack("<B%dIBI" % len(shape), len(shape), *shape, kind,
                                                             len(data)) + data


def in_8_bits(name, shape, data):
    """A matrix row by row, as model_spec.py of CTranslate2 rounds it: two variables."""
    import numpy
    rows = numpy.frombuffer(data, numpy.float32).reshape(shape)
    most = numpy.abs(rows).max(1)
    most[most == 0] = 127
    scale = numpy.float32(127) / most
    numbers = numpy.rint(rows * scale[:, None]).astype(numpy.int8)
    return [variable(name, shape, INT8, numbers.tobytes()),
            variable(name + "_scale", shape[:1], FLOAT32, scale.astype(numpy.float32).tobytes())]


def quantized(model):
    """The bytes of a model.bin with its matrices in 8 bits."""
    at = 0

    def take(form):
        nonlocal at
        values = struct.unpack_from("<" + form, model, at)
        at += struct.calcsize("<" + form)
        return values if len(values) != 1 else values[0]

    take("I")  # the format, the model's name, its revision
    size = take("H")
    at += size
    take("I")
    head, count, out = model[:at], take("I"), []
    for _ in range(count):
        size = take("H")
        name = model[at:at + size - 1].decode()
        at += size
        shape = [take("I") for _ in range(take("B"))]
        kind, size = take("B"), take("I")
        data = model[at:at + size]
        at += size
        is_matrix = kind == FLOAT32 and len(shape) == 2 and name.endswith("/weight")
        out += in_8_bits(name, shape, data) if is_matrix else [variable(name, shape, kind, data)]
    return head + struct.pack("<I", len(out)) + b"".join(out) + model[at:]  # aliases


def quantize(folder):
    made = folder + "-int8"
    shutil.copytree(folder, made)
    with open(os.path.join(folder, "model.bin"), "rb") as file:
        model = quantized(file.read())
    with open(os.path.join(made, "model.bin"), "wb") as file:
        file.write(model)


# ---- the workloads -------------------------------------------------------------------------------------


class Translators:
    """One for each number of threads, made when it is first asked for."""

    def __init__(self, folder, kind):
        self.folder, self.kind, self.made = folder, kind or "float32", {}
        self.set_threads(1)

    def set_threads(self, threads):
        if threads not in self.made:
            self.made[threads] = ctranslate2.Translator(self.folder, compute_type=self.kind, inter_threads=1,
                                                        intra_threads=threads)
        self.now = self.made[threads]


def decode(translators, source, beams):
    results = translators.now.translate_batch(source, beam_size=beams, min_decoding_length=STEPS,
                                              max_decoding_length=STEPS)
    if any(len(result.hypotheses[0]) != STEPS for result in results):
        raise RuntimeError("a translation has %d tokens" % len(results[0].hypotheses[0]))


def translate(translators, source, beams):
    results = translators.now.translate_batch(source, beam_size=beams, max_batch_size=BATCH_TOKENS,
                                              batch_type="tokens")
    for words, result in zip(source, results):
        if len(result.hypotheses[0]) != len(words):
            raise RuntimeError("a sentence of %d tokens has %d of them" % (len(words), len(result.hypotheses[0])))


def open_decode(options, kind):
    import numpy
    random = numpy.random.default_rng(1)
    with tempfile.TemporaryDirectory() as folder:
        words = write(folder)
        translators = Translators(folder, kind)
        for threads in (2, 1):
            translators.set_threads(threads)
    return translators, [[words[i] for i in row]
                         for row in random.integers(3, VOCABULARY, (options.size or 32, SOURCE))], {}


def open_served(options, kind):
    folder = os.path.join(options.data, "ctranslate2" + ("-int8" if kind else ""))
    before, begin = peer.resident(), time.perf_counter()
    translators = Translators(folder, kind)
    facts = {"loaded": time.perf_counter() - begin, "before": before, "resident": peer.resident()}
    with open(os.path.join(options.data, "sources")) as file:
        source = [line.split() for line in file]
    source = source[:options.size or len(source)]
    return translators, source, {"tokens": sum(map(len, source)), **facts}


def main():
    options = peer.arguments(form="greedy")
    if options.workload == "quantize":
        return quantize(os.path.join(options.data, "ctranslate2"))
    search, _, kind = options.form.partition("-")
    step, opened = {"decode": (decode, open_decode), "served": (translate, open_served)}[options.workload]
    translators, source, facts = opened(options, kind)
    for count in peer.turns(options.workload, translators.set_threads, version=ctranslate2.__version__, **facts):
        begin = time.perf_counter()
        for _ in range(count):
            step(translators, source, 4 if search == "beam" else 1)
        peer.tell(time.perf_counter() - begin, count, **facts)


main()
