"""tokenizer.json: `regimen text encode` and `decode` against Hugging Face's tokenizers.

usage: tokenizers_oracle.py COMMAND     compares; exits 77 where the package is not installed
       tokenizers_oracle.py --write     trains the small tokenizers of fuzz/corpus/tokenizer and writes
                                        tokenizers_golden.json, which bpe_test.c reads everywhere

The tokenizers are as those of GPT-2, Llama 2, Llama 3 and Qwen 2, with few merges. Texts are in many scripts,
with odd white space, numbers, apostrophes, added tokens and bytes that no token covers.
"""
import json
import os
import random
import subprocess
import sys
import tempfile

try:
    from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers
except ImportError as error:
    print(f"SKIPPED: tokenizers is not installed ({error})")
    sys.exit(77)

HERE = os.path.dirname(os.path.abspath(__file__))
CORPUS = os.path.join(HERE, "..", "..", "fuzz", "corpus", "tokenizer")
GOLDEN = os.path.join(HERE, "tokenizers_golden.json")
TRAINING = [
    "A man in an orange hat starring at something.",
    "A Boston Terrier is running on lush green grass in front of a white fence.",
    "Five people wearing winter jackets and helmets stand in the snow, with snowmobiles in the background.",
    "It costs 1,000.50 dollars (about 3-4 times as much), doesn't it? They're sure we'll see, I'd say.",
    "Zwei junge weiße Männer sind im Freien in der Nähe vieler Büsche.  Größe 12345 und 67890!",
    "def f(x):\n    return x + 1\n\n\nfor i in range(10):\n\tprint(i)\r\n",
] * 4
TEXTS = [
    "", " ", "  ", "a", " a", "a ", "  a", "\n", " \n ", "A man in an orange hat.", "don't DON'T 'S 'Re 'll'LL x'd 'ſ '",
    "They're sure we'll see, I'd've said.", "1 12 123 1234 12345 1,000.50 3½ ²x ٣٤٥ Ⅷ", "x=1;y  =\t2\n\n\n  z\r\n\r\n  end",
    "\t\tindented   much    more     ", "Größe weiße Männer ÀÉÎ éé ﬁﬂ Å Å", "你好,世界。 こんにちは 한국어 ไทย हिन्दी مرحبا שלום",
    "😀👨‍👩‍👧 ™ € … — “x” « »", "nbsp\u00a0em\u2003ideo\u3000zw\u200bline\u2028par\u2029nel\x85fs\x1cend",
    "<|endoftext|>", "a<|endoftext|>b <|endoftext|> c", "<s>hello</s>", " <mask> x", "x  <mask>  y", "<mask>", "a<mask>b",
    "<|endof", "<0x41>", "▁a ▁▁b", " ▁", "   three", "end   ", "...!!!???", "a\u0301\u0327x", "__init__ snake_case-kebab 'quoted'",
    "!\n\n?", "?\r\n\n x", "  \n  \n  x", "%\n", "\U0001f468\ufe0f", "\u0000\u0001\u007f", "ǅ ʰ ª º", "٠١", "x²³¹",
]
LLAMA3 = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|"
          r"\s+(?!\S)|\s+")


def byte_level(vocabulary, special, split=None, normalizer=None, prefix=False, **model):
    made = Tokenizer(models.BPE(**model))
    made.normalizer = normalizer
    if split:
        made.pre_tokenizer = pre_tokenizers.Sequence([
            pre_tokenizers.Split(Regex(split), "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
    else:
        made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=prefix)
    made.decoder = decoders.ByteLevel()
    made.train_from_iterator(TRAINING, trainers.BpeTrainer(
        vocab_size=vocabulary, special_tokens=special, show_progress=False,
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet())))
    return made


def llama2():
    special = ["<unk>", "<s>", "</s>"] + [f"<0x{byte:02X}>" for byte in range(256)]
    made = Tokenizer(models.BPE(unk_token="<unk>", fuse_unk=True, byte_fallback=True))
    made.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    made.train_from_iterator(TRAINING, trainers.BpeTrainer(vocab_size=400, special_tokens=special, show_progress=False))
    made.decoder = decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(),
                                      decoders.Strip(" ", 1, 0)])
    made = json.loads(made.to_str())
    made["added_tokens"] = made["added_tokens"][:3]  # bytes are plain tokens of its vocabulary
    return Tokenizer.from_str(json.dumps(made))


def metaspace():
    made = Tokenizer(models.BPE(unk_token="<unk>", fuse_unk=False))
    made.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="first")
    made.decoder = decoders.Metaspace(prepend_scheme="first")
    made.train_from_iterator(TRAINING, trainers.BpeTrainer(vocab_size=200, special_tokens=["<pad>", "</s>", "<unk>"],
                                                           show_progress=False))
    made.add_tokens([AddedToken("<mask>", lstrip=True, rstrip=True, normalized=False)])
    return made


def all_of_them():
    gpt2 = byte_level(320, ["<|endoftext|>"])
    gpt2.add_tokens([AddedToken("<mask>", lstrip=True, normalized=True), AddedToken("snake_case", normalized=True)])
    return {
        "gpt2": gpt2,
        "roberta": byte_level(300, ["<s>", "<pad>", "</s>"], prefix=True),
        "llama3": byte_level(330, ["<|begin_of_text|>", "<|end_of_text|>"], LLAMA3, ignore_merges=True),
        "qwen2": byte_level(310, ["<|endoftext|>"], LLAMA3.replace("{1,3}", ""), normalizers.NFC()),
        "llama2": llama2(),
        "metaspace": metaspace(),
    }


def write():
    golden = {}
    for name, made in all_of_them().items():
        made = json.loads(made.to_str())
        if name == "gpt2":  # as its own file has them: one text for a merge
            made["model"]["merges"] = [" ".join(pair) for pair in made["model"]["merges"]]
        path = os.path.join(CORPUS, name + ".json")
        with open(path, "w", encoding="utf-8") as file:
            json.dump(made, file, ensure_ascii=False, separators=(",", ":"))
            file.write("\n")
        golden[name] = [
            [text, ids, Tokenizer.from_file(path).decode(ids)]
            for text in TEXTS if "\0" not in text
            for ids in [Tokenizer.from_file(path).encode(text, add_special_tokens=False).ids]]
    with open(GOLDEN, "w", encoding="utf-8") as file:
        json.dump(golden, file, ensure_ascii=True, separators=(",", ":"))
        file.write("\n")


def lines_to_try(chance):
    pieces = [piece for text in TEXTS + TRAINING for piece in text.replace("\n", " ").replace("\r", " ").split(" ")]
    pieces += [" ", "  ", "\t", "'s", "'LL", "123", "4567", "\u00a0", "\u2003", "é", "e\u0301", "ß", "Σ", "中", "😀", "\x7f"]
    for _ in range(3000):
        yield "".join(chance.choice(pieces) + chance.choice(["", " ", " ", "  "]) for _ in range(chance.randrange(9)))
    for _ in range(1000):  # any characters at all, of planes that all versions of Unicode know
        yield "".join(chr(chance.choice([chance.randrange(32, 127), chance.randrange(160, 0x3000),
                                         chance.randrange(0x3000, 0xd800)])) for _ in range(chance.randrange(12)))


def run(command, verb, path, text):
    done = subprocess.run([command, "text", verb, "--model", path], input=text.encode(), capture_output=True)
    if done.returncode:
        sys.exit(f"{verb} with {path}: {done.stderr.decode()}")
    return done.stdout.decode().split("\n")[:-1]


def compare(command):
    lines = [line for line in lines_to_try(random.Random(5)) if not set(line) & set("\0\n\r")]
    with open(GOLDEN, encoding="utf-8") as file:
        golden = json.load(file)
    for name, texts in golden.items():
        path = os.path.join(CORPUS, name + ".json")
        made = Tokenizer.from_file(path)
        for text, ids, back in texts:
            if made.encode(text, add_special_tokens=False).ids != ids or made.decode(ids) != back:
                sys.exit(f"{GOLDEN} is not what tokenizers says of {text!r} ({name})")
        wanted = [made.encode(line, add_special_tokens=False).ids for line in lines]
        ours = [[int(id) for id in line.split()] for line in run(command, "encode", path, "\n".join(lines) + "\n")]
        for line, a, b in zip(lines, ours, wanted, strict=True):
            if a != b:
                sys.exit(f"{name}: {line!r}: {a}, tokenizers: {b}")
        numbers = "\n".join(" ".join(map(str, ids)) for ids in wanted) + "\n"
        texts = [made.decode(ids) for ids in wanted]
        for line, a, b in zip(lines, run(command, "decode", path, numbers), texts, strict=True):
            if a != b:
                sys.exit(f"{name}: {line!r} is decoded as {a!r}, by tokenizers as {b!r}")
        print(f"{name}: {len(lines)} lines have the ids of tokenizers and lead back to the same text")


if __name__ == "__main__":
    if sys.argv[1:] == ["--write"]:
        write()
    else:
        compare(sys.argv[1])
