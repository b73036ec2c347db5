#!/bin/sh
# A Python program as a trial: scikit-learn's perceptron on digits, as examples/14_program has it. A search whose
# programs are killed and paused has the trials of an undisturbed one, and trials go on behind the rungs of a halving.
here=$(cd "$(dirname "$0")" && pwd)
python=$here/../../build/oracle/bin/python
if ! [ -x "$python" ] || ! "$python" -c 'import sklearn' 2>/dev/null; then
    echo "SKIPPED: build/oracle lacks scikit-learn (scripts/oracles.sh installs it)"
    exit 77
fi
. "$here/../lib.sh"
. "$here/programs_lib.sh"
disturbed sklearn digits_sklearn.yaml "$python" digits_sklearn.py
awk '$1 == "best" { good = $3 > 0.9 } END { exit !good }' sklearn.out || fail "accuracy: $(cat sklearn.out)"
finish
