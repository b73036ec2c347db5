#!/bin/sh
# The same of a perceptron in PyTorch, which reads its data from a file that is kept with its code.
here=$(cd "$(dirname "$0")" && pwd)
for python in "$here/../../build/peer_torch/bin/python" /usr/bin/python3 ""; do
    [ -n "$python" ] && [ -x "$python" ] && "$python" -c 'import torch, numpy' 2>/dev/null && break
done
digits=$here/../../build/oracle/bin/python
if [ -z "$python" ] || ! "$digits" -c 'import sklearn' 2>/dev/null; then
    echo "SKIPPED: no python has torch and numpy (scripts/peer.sh torch), or build/oracle lacks scikit-learn's digits"
    exit 77
fi
. "$here/../lib.sh"
. "$here/programs_lib.sh"
"$digits" -c 'import numpy, sklearn.datasets as d
numpy.savetxt("digits.csv", numpy.c_[d.load_digits(return_X_y=True)], "%g", ",")'
disturbed torch digits_torch.yaml "$python" "digits_torch.py, digits.csv"
awk '$1 == "best" { good = $3 > 0.9 } END { exit !good }' torch.out || fail "accuracy: $(cat torch.out)"
"$regimen" experiment code 1 --master torch.halving >code 2>/dev/null
says "^digits.csv +" code
finish
