"""MarianMT written and run by Transformers, and the same weights as Marian's npz, for marian_oracle.sh.

    marian_oracle.py make    makes "hf" and "marian" here, of source.spm and target.spm, and runs both
    marian_oracle.py back    "back" has the tensors and files of "hf"; runs it and "ours.hf"

To run a FOLDER is to write FOLDER.texts, translations of "lines" with the beams of its generation_config.json, and
FOLDER.scores, log-probabilities of the targets of "pairs", a line of JSON for each. For "marian" the model of
Transformers computes as Marian does, whose sinusoids and epsilons are others."""
import json
import os
import random
import shutil
import sys

import numpy as np
import sentencepiece
import torch
import transformers
from transformers import GenerationConfig, MarianConfig, MarianMTModel, MarianTokenizer

WIDTH, HEADS, INNER, LAYERS = 32, 4, 48, 2


def pieces_of(path):
    spm = sentencepiece.SentencePieceProcessor(model_file=path)
    return [spm.id_to_piece(i) for i in range(spm.get_piece_size()) if not spm.is_control(i) and not spm.is_unknown(i)]


def write_vocabulary(folder):
    pieces = sorted(set(pieces_of(f"{folder}/source.spm")) | set(pieces_of(f"{folder}/target.spm")))
    random.Random(5).shuffle(pieces)
    ids = {piece: i for i, piece in enumerate(["</s>", "<unk>", *pieces, "<pad>"])}
    with open(f"{folder}/vocab.json", "w", encoding="utf-8") as f:
        json.dump(ids, f, ensure_ascii=False)
    return ids


def random_model(ids):
    pad = ids["<pad>"]
    config = MarianConfig(
        vocab_size=len(ids), d_model=WIDTH, encoder_layers=LAYERS, decoder_layers=LAYERS + 1,
        encoder_attention_heads=HEADS, decoder_attention_heads=HEADS, encoder_ffn_dim=INNER, decoder_ffn_dim=INNER,
        activation_function="swish", max_position_embeddings=128, scale_embedding=True, pad_token_id=pad,
        eos_token_id=0, forced_eos_token_id=None, decoder_start_token_id=pad)
    torch.manual_seed(3)
    model = MarianMTModel(config).eval()
    with torch.no_grad():
        for name, p in model.named_parameters():
            if name.endswith("layer_norm.weight"):
                p.copy_(1 + 0.2 * torch.randn_like(p))
            elif p.dim() == 1:
                p.copy_(0.2 * torch.randn_like(p))
            else:
                p.copy_(torch.randn_like(p) * (0.2 if "shared" in name else 1.5 / WIDTH ** 0.5))
        model.model.shared.weight[pad] = 0
        model.final_logits_bias.copy_(0.5 * torch.randn_like(model.final_logits_bias))
        model.final_logits_bias[0, pad] = 0
        model.final_logits_bias[0, 0] += 0.6
        model.final_logits_bias[0, 1] = -30  # an unknown piece has a text here and none there
    model.generation_config = GenerationConfig(
        num_beams=4, length_penalty=1.0, early_stopping="never", max_length=49, min_length=6, no_repeat_ngram_size=2,
        repetition_penalty=1.2, bad_words_ids=[[pad]], pad_token_id=pad, eos_token_id=0, decoder_start_token_id=pad)
    return model


def marian_arrays(model, pad):
    """What the published conversion of Marian's arrays to Transformers' tensors takes, the other way round."""
    state = {name: t.detach().numpy() for name, t in model.state_dict().items()}
    arrays = {"Wemb": state["model.shared.weight"][:pad], "decoder_ff_logit_out_b": state["final_logits_bias"][:, :pad]}
    attention = {"q_proj": "q", "k_proj": "k", "v_proj": "v", "out_proj": "o"}
    for side, blocks in (("encoder", {"self_attn": "self"}), ("decoder", {"self_attn": "self", "encoder_attn": "context"})):
        for i in range(getattr(model.config, f"{side}_layers")):
            there, here = f"model.{side}.layers.{i}", f"{side}_l{i + 1}"
            for block, name in blocks.items():
                for part, letter in attention.items():
                    arrays[f"{here}_{name}_W{letter}"] = state[f"{there}.{block}.{part}.weight"].T.copy()
                    arrays[f"{here}_{name}_b{letter}"] = state[f"{there}.{block}.{part}.bias"][None]
                arrays[f"{here}_{name}_Wo_ln_scale"] = state[f"{there}.{block}_layer_norm.weight"][None]
                arrays[f"{here}_{name}_Wo_ln_bias"] = state[f"{there}.{block}_layer_norm.bias"][None]
            for k in (1, 2):
                arrays[f"{here}_ffn_W{k}"] = state[f"{there}.fc{k}.weight"].T  # in Fortran's order
                arrays[f"{here}_ffn_b{k}"] = state[f"{there}.fc{k}.bias"][None]
            arrays[f"{here}_ffn_ffn_ln_scale"] = state[f"{there}.final_layer_norm.weight"][None]
            arrays[f"{here}_ffn_ffn_ln_bias"] = state[f"{there}.final_layer_norm.bias"][None]
    return arrays


CONFIG = """bert-train-type-embeddings: true
bert-type-vocab-size: 2
dec-cell: gru
dec-cell-base-depth: 2
dec-cell-high-depth: 1
dec-depth: {decoder}
dim-emb: {width}
dim-rnn: 1024
dim-vocabs:
  - {tokens}
  - {tokens}
enc-cell: gru
enc-cell-depth: 1
enc-depth: {encoder}
enc-type: bidirectional
input-types:
  []
layer-normalization: false
right-left: false
skip: false
tied-embeddings: false
tied-embeddings-all: true
tied-embeddings-src: false
transformer-aan-activation: swish
transformer-aan-depth: 2
transformer-aan-nogate: false
transformer-decoder-autoreg: self-attention
transformer-dim-aan: 2048
transformer-dim-ffn: {inner}
transformer-ffn-activation: swish
transformer-ffn-depth: 2
transformer-guided-alignment-layer: last
transformer-heads: {heads}
transformer-no-projection: false
transformer-postprocess: dan
transformer-postprocess-emb: d
transformer-preprocess: ""
transformer-tied-layers:
  []
transformer-train-position-embeddings: false
type: transformer
ulr: false
ulr-dim-emb: 0
ulr-trainable-transformation: false
version: v1.9.0; 8a19a24; 2020-02-11 23:46:06 +0000"""


def write_marian(folder, model, ids):
    pad = ids["<pad>"]
    os.makedirs(folder)
    arrays = marian_arrays(model, pad)
    config = CONFIG.format(tokens=pad, width=WIDTH, encoder=LAYERS, decoder=LAYERS + 1, inner=INNER, heads=HEADS)
    arrays["special:model.yml"] = np.frombuffer(config.encode() + b"\0", np.int8)
    np.savez(f"{folder}/model.npz", **arrays)
    with open(f"{folder}/opus.vocab.yml", "w", encoding="utf-8") as f:
        for piece, i in ids.items():
            if i != pad:
                f.write(f"{json.dumps(piece)}: {i}\n")
    with open(f"{folder}/decoder.yml", "w", encoding="utf-8") as f:
        f.write("models:\n  - model.npz\nvocabs:\n  - opus.vocab.yml\n  - opus.vocab.yml\n"
                "relative-paths: true\nbeam-size: 4\nnormalize: 1\nword-penalty: 0\n")


def make_both():
    ids = write_vocabulary(".")
    model = random_model(ids)
    tokenizer = MarianTokenizer(source_spm="source.spm", target_spm="target.spm", vocab="vocab.json",
                                source_lang="de", target_lang="en")
    model.save_pretrained("hf")
    tokenizer.save_pretrained("hf")
    write_marian("marian", model, ids)
    for name in ("source.spm", "target.spm"):
        shutil.copy(name, f"marian/{name}")


def as_marian(model):
    """Its sinusoids, whose timescales are 10000^(i / (d / 2 - 1)), its epsilons, and no padding."""
    half = WIDTH // 2
    rates = np.exp(np.arange(half) * -(np.log(10000.0) / (half - 1)))
    angles = np.arange(model.config.max_position_embeddings)[:, None] * rates
    table = torch.tensor(np.concatenate([np.sin(angles), np.cos(angles)], 1), dtype=torch.float32)
    for stack in (model.model.encoder, model.model.decoder):
        stack.embed_positions.weight = torch.nn.Parameter(table, requires_grad=False)
    for module in model.modules():
        if isinstance(module, torch.nn.LayerNorm):
            module.eps = 1e-6
    model.final_logits_bias[0, model.config.pad_token_id] = -torch.inf
    return model


def read_lines(path):
    with open(path, encoding="utf-8") as f:
        return f.read().splitlines()


@torch.no_grad()
def run(name):
    folder = "hf" if name == "marian" else name
    tokenizer, model = MarianTokenizer.from_pretrained(folder), MarianMTModel.from_pretrained(folder).eval()
    if name == "marian":
        as_marian(model)
    with open(f"{name}.texts", "w", encoding="utf-8") as f:
        for line in read_lines("lines"):
            found = model.generate(**tokenizer(line, return_tensors="pt"))
            print(tokenizer.decode(found[0], skip_special_tokens=True), file=f)
    with open(f"{name}.scores", "w", encoding="utf-8") as f:
        for line in read_lines("pairs"):
            source, target = line.split("\t")
            labels = tokenizer(text_target=target, return_tensors="pt").input_ids
            start = torch.full((1, 1), model.config.decoder_start_token_id)
            logits = model(**tokenizer(source, return_tensors="pt"),
                           decoder_input_ids=torch.cat([start, labels[:, :-1]], 1)).logits
            found = torch.log_softmax(logits[0].double(), -1).gather(1, labels[0][:, None])[:, 0]
            print(json.dumps([float(x) for x in found]), file=f)


def same(a, b):
    one, other = MarianMTModel.from_pretrained(a).state_dict(), MarianMTModel.from_pretrained(b).state_dict()
    assert one.keys() == other.keys(), one.keys() ^ other.keys()
    for name, tensor in one.items():
        assert tensor.shape == other[name].shape and torch.equal(tensor, other[name]), name
    for name in ("vocab.json", "source.spm", "target.spm"):
        with open(f"{a}/{name}", "rb") as f, open(f"{b}/{name}", "rb") as g:
            x, y = f.read(), g.read()
        assert (json.loads(x) == json.loads(y)) if name == "vocab.json" else x == y, name


def make():
    make_both()
    run("hf")
    run("marian")


def back():
    same("hf", "back")
    run("back")
    run("ours.hf")


if __name__ == "__main__":
    transformers.logging.set_verbosity_error()
    torch.set_num_threads(1)
    {"make": make, "back": back}[sys.argv[1]]()
