"""Folders of Transformers, read and written, against Transformers.

usage: huggingface_oracle.py COMMAND              small random models of each family
       huggingface_oracle.py COMMAND RUN EXPORT   a run and its export: the same logits and the same tokens

Our logits are those of the run's ONNX export, by onnxruntime. Weights are drawn so large that attention looks at some
tokens and not at all of them alike; windows and rotary bases are such that they show in 40 tokens.
"""
import json
import os
import subprocess
import sys

import numpy
import onnxruntime
import torch
from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers
from transformers import (AutoModelForCausalLM, AutoTokenizer, GPT2Config, GPT2LMHeadModel, LlamaConfig,
                          LlamaForCausalLM, MistralConfig, MistralForCausalLM, Qwen2Config, Qwen2ForCausalLM)

COMMAND = os.path.abspath(sys.argv[1])
LINES = ["A man in an orange hat starring at something.", "Two dogs run through the grass.",
         "Größe: 12 Männer, 3.5 m — naïve?", "Five people wearing winter jackets stand in the snow."]
PROMPTS = ["A man", "Two dogs run", "Größe", "the snow.  And"]


def regimen(*arguments):
    made = subprocess.run([COMMAND, *arguments], capture_output=True)
    assert made.returncode == 0, (arguments, made.stderr.decode())
    return made.stdout


QWEN = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|"
        r"\s+(?!\S)|\s+")


def byte_level(qwens=False):
    made = Tokenizer(models.BPE())
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    if qwens:
        made.normalizer = normalizers.NFC()
        made.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.Split(Regex(QWEN), "isolated"),
                                                      pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
    made.decoder = decoders.ByteLevel()
    made.train_from_iterator(LINES * 8, trainers.BpeTrainer(
        vocab_size=301, special_tokens=["<|endoftext|>"], initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False))
    return made, "<|endoftext|>", "<|endoftext|>"


def with_marks():
    """As Llama 2's: pieces for bytes, a mark for spaces, a begin and an end."""
    special = ["<unk>", "<s>", "</s>"]
    made = Tokenizer(models.BPE(unk_token="<unk>", fuse_unk=True, byte_fallback=True))
    made.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    made.decoder = decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(),
                                      decoders.Strip(" ", 1, 0)])
    made.train_from_iterator(LINES * 8, trainers.BpeTrainer(
        vocab_size=400, special_tokens=special + [f"<0x{i:02X}>" for i in range(256)], show_progress=False))
    made.post_processor = processors.TemplateProcessing(single="<s> $A", special_tokens=[("<s>", 1)])
    return made, "<s>", "</s>"


BYTES, QWENS, MARKS = byte_level(), byte_level(qwens=True), with_marks()
SMALL = dict(hidden_size=32, intermediate_size=48, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2,
             max_position_embeddings=64)
GPT2 = dict(n_positions=64, n_embd=32, n_layer=2, n_head=4)
# name: model, configuration, its keys, tokenizer, how it is saved
CASES = {
    "gpt2": (GPT2LMHeadModel, GPT2Config, dict(GPT2), BYTES, {}),
    "gpt2-untied": (GPT2LMHeadModel, GPT2Config, dict(GPT2, tie_word_embeddings=False, n_inner=40,
                                                      activation_function="gelu", layer_norm_epsilon=1e-3), BYTES, {}),
    "llama": (LlamaForCausalLM, LlamaConfig, dict(SMALL, rope_theta=300.0, rms_norm_eps=1e-2), MARKS, {}),
    "llama-biases": (LlamaForCausalLM, LlamaConfig, dict(SMALL, attention_bias=True, mlp_bias=True, num_key_value_heads=4,
                                                         tie_word_embeddings=True, hidden_act="gelu_pytorch_tanh"),
                     BYTES, {}),
    "llama-shards": (LlamaForCausalLM, LlamaConfig, dict(SMALL, num_key_value_heads=1), MARKS,
                     dict(max_shard_size="60KB")),
    "mistral": (MistralForCausalLM, MistralConfig, dict(SMALL, sliding_window=7), MARKS, {}),
    "mistral-half": (MistralForCausalLM, MistralConfig, dict(SMALL, sliding_window=None), BYTES, dict(dtype=torch.float16)),
    "qwen2": (Qwen2ForCausalLM, Qwen2Config, dict(SMALL, rope_theta=1e6), QWENS, dict(dtype=torch.bfloat16)),
    "qwen2-windows": (Qwen2ForCausalLM, Qwen2Config, dict(SMALL, tie_word_embeddings=True, use_sliding_window=True,
                                                          sliding_window=5, max_window_layers=0), QWENS, {}),
}


def our_logits(run, ids):
    folder = run + ".onnx"
    regimen("export", run, "--to", folder)
    about = json.load(open(folder + "/language_model.json"))
    model = onnxruntime.InferenceSession(folder + "/" + about["model"]["file"])
    past = {i.name: numpy.zeros([len(ids), 0, i.shape[2]], "float32") for i in model.get_inputs()[2:]}
    return model.run(None, {"ids": ids, "positions": numpy.arange(ids.shape[1]), **past})[0]


def their_logits(model, ids):
    with torch.no_grad():
        return model(torch.tensor(ids)).logits.numpy()


def draw_ids(vocabulary):
    return numpy.random.default_rng(1).integers(0, vocabulary, (3, 40))


def write(name):
    make, configuration, keys, (tokenizer, begin, end), saved = CASES[name]
    ends = dict(bos_token_id=tokenizer.token_to_id(begin), eos_token_id=tokenizer.token_to_id(end))
    torch.manual_seed(len(name))
    model = make(configuration(vocab_size=tokenizer.get_vocab_size(), **ends, **keys))
    with torch.no_grad():
        for key, weight in model.named_parameters():
            weight.normal_(1 if "norm" in key or "ln_" in key else 0, 0.15)
    model = model.to(saved.get("dtype", torch.float32))
    model.save_pretrained(name, **{k: v for k, v in saved.items() if k != "dtype"})
    tokenizer.save(name + "/tokenizer.json")
    return AutoModelForCausalLM.from_pretrained(name, dtype=torch.float32).eval(), tokenizer, ends


def check_texts(name, run, model, tokenizer, ends):
    """Greedily, token by token, up to a tie within rounding, which both may choose as they like."""
    sure = 0
    for prompt in PROMPTS:
        ids = tokenizer.encode(prompt).ids
        made = model.generate(torch.tensor([ids]), max_new_tokens=20, do_sample=False, num_beams=1,
                              return_dict_in_generate=True, output_scores=True, pad_token_id=0)
        best = torch.topk(torch.cat(made.scores), 2).values
        close = (best[:, 0] - best[:, 1] < 1e-4).tolist() + [True]
        steps = close.index(True)
        sure += steps
        if steps == 0:
            continue
        theirs = made.sequences[0].tolist()[len(ids):][:steps]
        theirs = theirs[:-1] if theirs[-1] == ends["eos_token_id"] else theirs
        line = json.loads(regimen("generate", run, "--prompt", prompt, "--temperature", "0", "--max-tokens", str(steps),
                                  "--json", "--set", "task.generate.batch_size=1"))
        whole = tokenizer.decode(ids + theirs, skip_special_tokens=True)
        before = tokenizer.decode(ids, skip_special_tokens=True)
        ours = line["text"].encode().decode(errors="replace")
        assert before + ours == whole or ours == tokenizer.decode(theirs), (name, prompt, ours, whole[len(before):])
    assert sure >= 40, (name, sure)


def check_case(name):
    model, tokenizer, ends = write(name)
    report = json.loads(regimen("import", name, "--out", name + ".run", "--json"))
    assert report["source"] == "Hugging Face" and report["family"] == name.split("-")[0], report
    taken = {row["from"] for row in report["weights"] if row["to"]}
    assert taken == {key for key, _ in model.named_parameters()}, taken
    ids = draw_ids(tokenizer.get_vocab_size())
    theirs = their_logits(model, ids)
    far = abs(our_logits(name + ".run", ids) - theirs).max()
    assert far < 1e-5, (name, far)
    check_texts(name, name + ".run", model, tokenizer, ends)
    regimen("export", name + ".run", "--to", name + ".back", "--format", "huggingface")
    back, told = AutoModelForCausalLM.from_pretrained(name + ".back", output_loading_info=True, dtype=torch.float32)
    assert not any(told.values()), told
    named = "LlamaForCausalLM" if name == "mistral-half" else type(model).__name__  # without windows it is one
    assert type(back).__name__ == named, type(back)
    same = abs(their_logits(back.eval(), ids) - theirs).max()
    assert same == 0, (name, same)
    read = AutoTokenizer.from_pretrained(name + ".back")
    for line in LINES:
        assert read.encode(line, add_special_tokens=False) == tokenizer.encode(line, add_special_tokens=False).ids, line
    print(f"{name}: {report['parameters']} weights, logits up to {abs(theirs).max():.2f} differ by {far:.1e} at most")


def check_export(run, folder):
    model, told = AutoModelForCausalLM.from_pretrained(folder, output_loading_info=True)
    assert not any(told.values()), told
    ids = draw_ids(model.config.vocab_size)
    theirs = their_logits(model.eval(), ids)
    far = abs(our_logits(run, ids) - theirs).max()
    assert far < 1e-5, far
    tokenizer = AutoTokenizer.from_pretrained(folder)
    for line in LINES + ["two  three", "x 😀 fünf.", " one", ""]:
        made = subprocess.run([COMMAND, "text", "encode", "--model", run + "/tokenizer.model"], input=line + "\n",
                              capture_output=True, text=True, check=True).stdout
        ours = [int(i) for i in made.split()]
        assert tokenizer.encode(line, add_special_tokens=False) == ours, (line, ours)
    print(f"{run}: logits differ by {far:.1e} at most")


if len(sys.argv) == 4:
    check_export(*sys.argv[2:])
else:
    for case in CASES:
        check_case(case)
