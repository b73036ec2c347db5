#!/bin/sh
# Pages of docs/ as a reader follows them: each command of a page in its order, as it is written, in a folder that has
# what the root of the repository has.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/pages.sh"
open_pages

type_page docs/own_sequence.md 5
says '^step 150  seven eight nine ten. one two three' told
says '^step 40  The ' told
says '^step 60  The ' told
says "step: +60 " told

type_page docs/finetuning.md 8
says 'initialized 4 of 4 parameters from the best weights of runs/base; 0 of its tensors unused' told
says '^runs/each/step-00000060  finished  20/20' told
[ "$(grep -c '^best  ' told)" = 5 ] || fail "not every run of the page chose its best weights"
says 'initialized 2 of 4 parameters' runs/four/log.txt
rm -r runs

type_page docs/operating.md 14
says '^runs/a  +finished' told
says '^runs/b  +finished' told
says '^runs/copy  +finished' told
says '^runs/renamed  +finished' told
says 'valid.*accuracy' told
says 'no mistakes' told
[ -s curves.svg ] || fail "no curves.svg"

type_page docs/programs.md 12
says '^. checkpointed +1 files' told
says '^state +COMPLETED' told
says '^descent.sh +[0-9]+ +[0-9a-f]{16}' told
says '^\+# another version$' told
says 'max_trials: 3' told
[ "$(cat as_it_was/descent.sh)" = "$(cat examples/14_program/descent.sh)" ] || fail "the code is not as it was"
says '^\{"trial": 2, "hyperparameters": \{"learning_rate": ' told

type_page docs/data_sets.md 4
says '^wrote    shop/experiment.yaml$' told
awk '/^test / { for (i = 1; i < NF; i++) if ($i == "accuracy") good = $(i + 1) > 0.7 }
     END { exit !good }' told || fail "the shop's test accuracy: $(grep '^test ' told)"
finish
