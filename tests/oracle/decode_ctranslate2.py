"""Translates greedily with a folder of CTranslate2, or scores translations with it.

usage: decode_ctranslate2.py FOLDER < tokens            lines of tokens, separated by spaces, to such lines
       decode_ctranslate2.py FOLDER --score < pairs     lines "tokens TAB tokens" to log-probabilities of the second
                                                        without and with their end
"""
import sys

import ctranslate2

folder = sys.argv[1]
translator = ctranslate2.Translator(folder, compute_type="float32", inter_threads=1, intra_threads=1)
for line in sys.stdin.read().split("\n")[:-1]:
    if sys.argv[2:] == ["--score"]:
        source, target = (side.split(" ") if side else [] for side in line.split("\t"))
        log_probs = translator.score_batch([source], [target])[0].log_probs
        assert len(log_probs) == len(target) + 1, (line, log_probs)
        print(sum(log_probs[:-1]), sum(log_probs))
        continue
    tokens = line.split(" ")
    result = translator.translate_batch([tokens], beam_size=1, min_decoding_length=0,
                                        max_decoding_length=len(tokens) + 13)[0]
    print(" ".join(result.hypotheses[0]))
