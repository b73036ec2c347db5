"""Translate lines with a folder that `regimen export` wrote for a translation run, and nothing else of Regimen.

usage: decode_onnx.py EXPORT_DIR [--beam N] [--n-best N] [--scores] < IN > OUT

Needs onnxruntime and numpy; the tokenizers are read by the module sentencepiece, or where that is not installed by
the commands spm_encode and spm_decode. What it prints is what `regimen translate` prints.
"""
import argparse
import json
import os
import subprocess
import sys

import numpy as np
import onnxruntime

BATCH = 8  # lines translated together


class Tokens:
    """Lines to token ids and back, for one side of translation.json."""

    def __init__(self, folder, side):
        assert "vocabulary" not in side, "ids are the tokenizer's own here"
        self.begin = [] if side["begin_id"] is None else [side["begin_id"]]
        self.end, self.model = side["end_id"], side["tokenizer"] and os.path.join(folder, side["tokenizer"])
        try:
            import sentencepiece
            self.processor = self.model and sentencepiece.SentencePieceProcessor(model_file=self.model)
        except ImportError:
            self.processor = None

    def command(self, name, option, lines):
        lines = "".join(line + "\n" for line in lines)
        made = subprocess.run([name, f"--model={self.model}", option], input=lines.encode(), check=True,
                              stdout=subprocess.PIPE).stdout
        return made.decode().split("\n")[:-1]

    def encode(self, lines):
        if self.model is None:
            return [[int(word) for word in line.split()] for line in lines]
        if self.processor:
            return self.processor.encode(lines)
        return [[int(i) for i in line.split()] for line in self.command("spm_encode", "--output_format=id", lines)]

    def encode_with_factors(self, lines, factors):
        """Of lines whose words end with "|" and a value of each factor: ids, and the values' numbers of each id."""
        lines = [[word.rsplit("|", len(factors)) for word in line.replace("\t", " ").split(" ") if word] for line in lines]
        ids = self.encode([" ".join(word[0] for word in line) for line in lines])
        alone = iter(self.encode([word[0] for line in lines for word in line]))
        beside = []
        for whole, line in zip(ids, lines):
            pieces = [(next(alone), [f["values"][v] for f, v in zip(factors, word[1:])]) for word in line]
            assert [i for own, _ in pieces for i in own] == whole, "words are cut otherwise by themselves"
            beside.append([numbers for own, numbers in pieces for _ in own])
        return ids, beside

    def decode(self, ids):
        if self.model is None:
            return [" ".join(map(str, line)) for line in ids]
        if self.processor:
            return self.processor.decode(ids)
        return self.command("spm_decode", "--input_format=id", [" ".join(map(str, line)) for line in ids])


class Translator:
    def __init__(self, folder):
        with open(os.path.join(folder, "translation.json"), encoding="utf-8") as file:
            self.about = json.load(file)
        self.encoder = self.open(folder, self.about["encoder"])
        self.decoder = self.open(folder, self.about["decoder_step"])
        self.source, self.target = (Tokens(folder, self.about[side]) for side in ("source", "target"))
        self.caches = self.about["caches"]
        self.factors = self.about["source"].get("factors", [])

    @staticmethod
    def open(folder, part):
        path = os.path.join(folder, part["file"])
        session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
        for kind, there in (("inputs", session.get_inputs()), ("outputs", session.get_outputs())):
            said, is_there = {t["name"]: t["shape"] for t in part[kind]}, {t.name: t.shape for t in there}
            assert said == is_there, f"{path}: {kind} are {is_there}, translation.json says {said}"
        return session

    @staticmethod
    def run(session, feeds):
        return dict(zip((o.name for o in session.get_outputs()), session.run(None, feeds)))

    def start(self, sources, beside):
        """What the decoder is fed at every step, and the keys and values of no tokens."""
        source = np.zeros((len(sources), max(map(len, sources))), np.int64)
        for row, ids in zip(source, sources):
            row[: len(ids)] = ids
        feeds = {"source": source}
        if self.factors:
            feeds["source_factors"] = np.zeros(source.shape + (len(self.factors),), np.int64)
            for row, numbers in zip(feeds["source_factors"], beside):
                row[: len(numbers)] = numbers
        fixed = {"source": source, **self.run(self.encoder, feeds)}
        past = {t["name"]: np.zeros((len(sources), 0, t["shape"][2]), np.float32)
                for t in self.about["decoder_step"]["inputs"] if t["name"].startswith("past_")}
        return fixed, past

    def step(self, fixed, past, ids, position):
        """Log-probabilities [rows, vocabulary] behind the newest ids [sentences, beams], and the next past."""
        made = self.run(self.decoder, {"ids": ids, "position": np.array([position]), **fixed, **past})
        return made["log_probabilities"], {c["past"]: made[c["present"]] for c in self.caches}

    def longest(self, ids):
        o = self.about["search"]
        most = o["decode_max_length"] or int(o["decode_length_factor"] * len(ids)) + o["extra_decode_length"]
        return min(most, self.about["max_positions"])

    def search(self, sources, beside, beams, n_best):
        """Beam search (greedy with one beam): for each source up to n_best (score, ids), best first."""
        alpha, end = self.about["search"]["alpha"], self.target.end
        power = self.about["search"]["length_penalty"] == "power"
        penalty = lambda length: (length if power else (5 + length) / 6) ** alpha
        fixed, past = self.start(sources, beside)
        first = self.about["target"]["begin_id"]
        open_ = [[(0.0, [])] for _ in sources]  # (log-probability, ids): as many as there are rows of each
        done = [[] for _ in sources]
        under_way = [True for _ in sources]
        position = 0
        while any(under_way):
            rows = len(open_[0])
            ids = np.array([[(ids or [first])[-1] for _, ids in o] for o in open_], np.int64)
            log_probabilities, past = self.step(fixed, past, ids, position)
            log_probabilities = log_probabilities.astype(np.float64).reshape(len(sources), rows, -1)
            if self.about["search"]["no_padding"]:
                log_probabilities[:, :, 0] = -np.inf
            position += 1
            chosen = []
            for i, source in enumerate(sources):
                if not under_way[i]:
                    open_[i] = (open_[i] * beams)[:beams]
                    chosen += [i * rows] * beams
                    continue
                sums = np.array([[o[0]] for o in open_[i]]) + log_probabilities[i]
                best = np.argsort(-sums, axis=None, kind="stable")[: 1 if beams == 1 else 2 * beams]
                going_on = []
                for rank, at in enumerate(best):
                    row, token = divmod(int(at), sums.shape[1])
                    if token == end and rank >= beams and self.about["search"]["end_within_beam"]:
                        continue
                    if token == end:
                        done[i].append((sums.flat[at] / penalty(position), open_[i][row][1]))
                        done[i] = sorted(done[i], key=lambda d: -d[0])[:beams]
                    elif len(going_on) < beams:
                        going_on.append((sums.flat[at], open_[i][row][1] + [token], i * rows + row))
                most = self.longest(source)
                if not going_on or position >= most or (
                        done[i] and done[i][-1][0] > going_on[0][0] / penalty(most)):
                    under_way[i] = False
                    done[i] = done[i] or [o[:2] for o in going_on]
                going_on = (going_on or [(0.0, [0], i * rows)]) * beams  # of one that is done: anything
                open_[i] = [o[:2] for o in going_on[:beams]]
                chosen += [o[2] for o in going_on[:beams]]
            past = {name: x[chosen] for name, x in past.items()}
        return [d[:n_best] for d in done]

    def translate(self, lines, beams, n_best):
        """For each line a list of (score, text)."""
        results = [[(0.0, "")] for _ in lines]
        beside = [[] for _ in lines]
        if self.factors:
            ids, beside = self.source.encode_with_factors(lines, self.factors)
        else:
            ids = self.source.encode(lines)
        none = [[0] * len(self.factors)]  # of a tag and of the end
        full = [i for i, tokens in enumerate(ids) if tokens]
        for at in range(0, len(full), BATCH):
            part = full[at : at + BATCH]
            found = self.search([self.source.begin + ids[i] + [self.source.end] for i in part],
                                [none * len(self.source.begin) + beside[i] + none for i in part], beams, n_best)
            for i, hypotheses in zip(part, found):
                texts = self.target.decode([tokens for _, tokens in hypotheses])
                results[i] = [(score, text) for (score, _), text in zip(hypotheses, texts)]
        return results


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder")
    parser.add_argument("--beam", type=int)
    parser.add_argument("--n-best", type=int, default=1)
    parser.add_argument("--scores", action="store_true")
    arguments = parser.parse_args()
    translator = Translator(arguments.folder)
    lines = sys.stdin.buffer.read().decode().split("\n")[:-1]
    beams = arguments.beam or translator.about["search"]["beam_size"]
    for number, hypotheses in enumerate(translator.translate(lines, beams, arguments.n_best), 1):
        for score, text in hypotheses:
            before = f"{number}\t" if arguments.n_best > 1 else ""
            before += f"{score:.6f}\t" if arguments.scores else ""
            sys.stdout.buffer.write(f"{before}{text}\n".encode())


if __name__ == "__main__":
    main()
