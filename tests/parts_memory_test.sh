#!/bin/sh
# A graph of 10 million edges in 4 parts on 4 ranks: the memory of each rank is below 0.35 of what one process takes for the
# same run. EDGES and NODES make it smaller.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/mpi_lib.sh"
cd "$work" || exit 1
edges=${EDGES:-10000000}
nodes=${NODES:-500000}

# 64 communities with 1 % of the edges between them.
"$regimen" data generate citation --to folder --nodes "$nodes" --edges $((edges / 2)) --classes 64 --dense 32 \
    --homophily 0.99 --train-per-class 500 --valid 20000 --test 20000 >out 2>err &&
    "$regimen" data import folder folder --to graph --format graph >out 2>err || fail "$(tail -2 err)"
rm -rf folder
cat >run.yaml <<YAML
data: {type: folder, path: graph}
task: {type: node_classification, node_set: nodes, label: label, num_classes: 64}
model: {type: graph_sage, hidden: [32]}
optimizer: {type: adam, learning_rate: 1e-2}
trainer: {epochs: 2}
runtime: {seed: 1, threads: 1}
YAML

# Most memory that a command had, to memory.RANK, in kB.
cat >peak.py <<'PY'
import os, sys
pid = os.spawnvp(os.P_NOWAIT, sys.argv[1], sys.argv[1:])
_, status, usage = os.wait4(pid, 0)
open("memory." + os.environ.get("OMPI_COMM_WORLD_RANK", "one"), "w").write("%d\n" % usage.ru_maxrss)
sys.exit(os.waitstatus_to_exitcode(status))
PY
started=$(date +%s)
python3 peak.py "$regimen" data partition graph --to parts --parts 4 --method "${METHOD:-metis}" >out 2>err || fail "$(tail -2 err)"
echo "partition: $(($(date +%s) - started)) s, $(($(cat memory.one) / 1024)) MB; $(tail -1 err)"
python3 peak.py "$regimen" run run.yaml --run-dir one >out 2>err || fail "one process: $(tail -2 err)"
timeout -k 5 540 mpirun -n 4 python3 peak.py "$regimen" run run.yaml --set data.type=parts --set data.path=parts --run-dir four >out 2>err ||
    fail "four ranks: $(grep '^regimen' err)"
one=$(cat memory.one)
for rank in 0 1 2 3; do
    share=$((1000 * $(cat memory.$rank) / one))
    echo "rank $rank: $(($(cat memory.$rank) / 1024)) MB, 0.$(printf %03d $share) of one process ($((one / 1024)) MB)"
    [ $share -lt 350 ] || fail "rank $rank takes 0.$(printf %03d $share) of one process"
done
finish
