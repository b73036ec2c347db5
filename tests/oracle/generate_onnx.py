"""Write texts with a folder that `regimen export` wrote for a language model, and compare them with those of `regimen generate --json`.

usage: generate_onnx.py EXPORT_DIR GENERATED

Needs onnxruntime and numpy, and for the tokenizer what decode_onnx.py needs. Each text is the most probable token after the other, by keys and
values that the model gave with the call before. Texts, numbers of tokens, what ended them, and log-probabilities (to 1e-4) must be the same.
"""
import json
import os
import sys

import numpy as np

from decode_onnx import Tokens, Translator


class Writer:
    def __init__(self, folder):
        with open(os.path.join(folder, "language_model.json"), encoding="utf-8") as file:
            self.about = json.load(file)
        self.session = Translator.open(folder, self.about["model"])
        self.tokens = Tokens(folder, self.about)

    def start(self, rows):
        """Keys and values of no tokens."""
        return {t["name"]: np.zeros((rows, 0, t["shape"][2]), np.float32) for t in self.about["model"]["inputs"] if t["name"].startswith("past_")}

    def step(self, ids, before, past):
        """The logits [rows, tokens, vocabulary] of the newest ids [rows, tokens], and the next past."""
        feeds = {"ids": np.array(ids, np.int64), "positions": np.arange(before, before + len(ids[0])), **past}
        made = Translator.run(self.session, {t["name"]: feeds[t["name"]] for t in self.about["model"]["inputs"]})
        return made["logits"].astype(np.float64), {c["past"]: made[c["present"]] for c in self.about["model"]["caches"]}

    def write(self, prompt):
        """The ids behind those of a prompt, why they end, their log-probability."""
        o, end = self.about["generate"], self.about["end_id"]
        assert o["temperature"] == 0 and o["repetition_penalty"] == 1, o
        ids, written, past, read, sum_ = list(prompt), [], self.start(1), 0, 0.0
        while True:
            if len(ids) >= self.about["max_positions"]:
                return written, "length", sum_
            logits, past = self.step([ids[read:]], read, past)
            read = len(ids)
            row = logits[0, -1]
            token = int(row.argmax())
            sum_ += row[token] - row.max() - np.log(np.exp(row - row.max()).sum())
            if token == end:
                return written, "end", sum_
            ids.append(token)
            written.append(token)
            if len(written) == o["max_tokens"]:
                return written, "length", sum_

    def check_parts(self, ids):
        """A prompt token by token, and beside another row, has the logits that it has at once."""
        whole, kept = self.step([ids], 0, self.start(1))
        past, parts = self.start(1), []
        for i, token in enumerate(ids):
            logits, past = self.step([[token]], i, past)
            parts.append(logits[0, 0])
        np.testing.assert_allclose(np.stack(parts), whole[0], atol=1e-4)
        for name, tensor in kept.items():
            np.testing.assert_allclose(past[name], tensor, atol=1e-4)
        beside, _ = self.step([ids[::-1], ids], 0, self.start(2))
        np.testing.assert_allclose(beside[1], whole[0], atol=1e-4)


def main():
    writer = Writer(sys.argv[1])
    with open(sys.argv[2], encoding="utf-8") as file:
        ours = [json.loads(line) for line in file]
    begin = [writer.about["begin_id"]] if writer.about["generate"]["begin"] else []
    prompts = [begin + ids for ids in writer.tokens.encode([o["prompt"] for o in ours])]
    for prompt in prompts[:3]:
        writer.check_parts(prompt)
    made = [writer.write(prompt) for prompt in prompts]
    whole = writer.tokens.decode([prompt[len(begin):] + ids for prompt, (ids, _, _) in zip(prompts, made)])
    before = writer.tokens.decode([prompt[len(begin):] for prompt in prompts])
    for o, text, prompt, (ids, end, sum_) in zip(ours, whole, before, made):
        assert text.startswith(prompt), (text, prompt)
        theirs = {"prompt": o["prompt"], "text": text[len(prompt):], "tokens": len(ids), "log_probability": o["log_probability"], "end": end}
        assert o == theirs, (o, theirs)
        assert abs(o["log_probability"] - sum_) < 1e-4, (o, sum_)
    print(f"{len(ours)} texts of {sum(o['tokens'] for o in ours)} tokens are the same; ends: {sorted({o['end'] for o in ours})}")


main()
