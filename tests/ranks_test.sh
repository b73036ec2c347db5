#!/bin/sh
# One run on 1, 2 and 4 ranks has the same bytes: records with batch normalisation, scores that are kept and gradients
# of bf16, slots that are shared out, gradients in several buckets, subgraphs
# sampled on the way and into files, translation with dropout, accumulation and a loss scale, private training, a
# program's own model and metric, bad steps that are skipped. So has a run that goes on with another number of ranks, behind a signal to one of them or a
# kill. And what is said where ranks cannot share a run. With KILLS so many kills at random moments (SEED).
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/mpi_lib.sh"
fast_work
cd "$work" || exit 1
kills=${KILLS:-0}
seed=${SEED:-$(od -An -N3 -tu4 /dev/urandom | tr -d ' ')}

# Each rank writes down its process; rank 0 gets the signal HOW when it has saved step WHEN.
cat >start <<'SH'
#!/bin/sh
rank=${OMPI_COMM_WORLD_RANK:-0}
echo $$ >pid.$rank
[ -z "${WHEN:-}" ] || [ $rank != 0 ] ||
    export LD_PRELOAD="$RGM_PRELOAD" RGM_SIGNAL="$HOW" RGM_SIGNAL_AT="step-000000$WHEN"
exec "$@"
SH
chmod +x start

# on RANKS OPTIONS...: the run of this folder; one process is started as anybody starts it.
on() {
    count=$1
    shift
    if [ "$count" = 1 ]; then
        ../../start "$regimen" run ../data/run.yaml --run-dir run "$@"
    else
        ranks "$count" ../../start "$regimen" run ../data/run.yaml --run-dir run "$@"
    fi
}

# in_folder NAME: an empty one, where every run is called `run`: positions in the data name files.
in_folder() {
    rm -rf "${work:?}/$form/$1"
    mkdir -p "$work/$form/$1"
    cd "$work/$form/$1" || exit 1
}

# same_as_one NAME TEXT: as undisturbed, but for what a signal had saved beside it.
same_as_one() {
    cd "$work/$form" || exit 1
    if grep -q "asked to stop; the state is saved" "$1/run/log.txt"; then
        for saved in "$1"/run/ckpt/*; do
            [ -e "one/run/ckpt/${saved##*/}" ] || rm -r "$saved"
        done
    fi
    same_run one/run "$1/run" "$form: $2"
}

# experiment FORM: in four shards.
experiment() {
    form=$1
    mkdir -p "$work/$form/data"
    file=$work/$form/data/run.yaml
    case $form in
    scores) position_experiment sampled "$file" ;;
    skipping | wide) position_experiment records "$file" ;;
    *) position_experiment "$form" "$file" ;;
    esac
    case $form in
    records) # in epochs: the last step of each has batches for half of the shards
        sed -i -e 's/hidden: \[8\]/hidden: [8], dropout: 0.2, batch_norm: true/' -e 's/batch_size: 16/batch_size: 18/' -e 's/every_steps: 5/every_steps: 3/' \
            -e 's/epochs: ~, train_steps: 23, steps_per_loop: 5, validation_interval: 10/epochs: 5/' "$file"
        ;;
    scores) # one 0/1 label has areas under curves of all scores
        sed -i -e 's/classes: 4, words/classes: 2, words/' \
            -e 's/root_node_classification\(.*\), num_classes: 4}/root_node_binary_classification\1}/' \
            -e 's/valid.accuracy/valid.auc_roc/' "$file"
        ;;
    wide) sed -i 's/hidden: \[8\]/hidden: [200, 200, 200]/' "$file" ;; # gradients in several buckets
    skipping) sed -i 's/^trainer: {/trainer: {recovery: {policy: skip, loss_upper_bound: 1.15, max_tries: 99}, /' "$file" ;;
    translation)
        sed -i -e 's/embedding_width: 8/embedding_width: 8, dropout_rate: 0.1/' -e 's/batch_tokens: 128/batch_tokens: 64/' \
            -e 's/^trainer: {/trainer: {accumulation_steps: 2, /' "$file"
        ;;
    esac
    scale=none exchange=f32 part=false
    case $form in records | sampled | skipping) part=true ;; esac
    [ $form != translation ] || scale=dynamic
    [ $form != scores ] || exchange=bf16
    sed -i "s/^runtime: .*/runtime: {seed: 3, threads: 1, shards: 4, loss_scale: $scale, gradient_exchange: $exchange, shard_optimizer: $part}/" "$file"
}

for form in records scores sampled subgraphs translation private skipping wide; do
    experiment $form
    for number in 1 2 4; do
        name=one
        [ $number = 1 ] || name=on$number
        in_folder $name
        on $number >out 2>err || fail "$form on $number ranks: $(tail -3 err)"
        [ "$(grep -c '^run ' out)" = 1 ] || fail "$form: not one of $number ranks tells how it ended: $(cat out)"
        [ $number = 1 ] || same_as_one on$number "$number ranks"
    done
done
says '^ranks    4; this one sent .* of which [0-9]+ % are hidden$' "$work/translation/on4/out"
! grep -q '^ranks ' "$work/translation/one/out" || fail "one process tells of ranks"
says '^shards   4 in a step, on 4 ranks; gradients are added up and travel as bf16$' "$work/scores/on4/err"
says '^shards   4 in a step, on 1 rank; gradients are added up as f32$' "$work/records/one/err"
says '^shards .* as f32; each rank keeps a part of the slots$' "$work/records/on2/err"
grep -q 'auc_roc' "$work/scores/one/run/metrics.jsonl" || fail "no areas under curves"
says 'skipped \([0-9]+ of 99\)$' "$work/skipping/on4/run/log.txt"
says '^ *"valid": .*exact_match' "$work/translation/one/run/result.json"

# ---- another number of ranks ----
is_stopped() { grep -q '^State:.T' "/proc/$(cat pid.0)/status"; }

if [ -n "${RGM_SANITIZE:-}" ]; then
    echo "SKIPPED: $RGM_PRELOAD does not go with sanitizers"
else
    for form in records translation; do
        in_folder life
        first=05 second=10
        [ $form != records ] || first=06 second=12
        HOW=19 WHEN=$first on 4 >out 2>err & # rank 0 stands still behind its save
        job=$!
        wait_for is_stopped
        kill -TERM "$(cat pid.2)"
        kill -CONT "$(cat pid.0)"
        wait $job
        [ $? = 75 ] || fail "$form: a signal to rank 2 of 4: $(cat err)"
        if HOW=9 WHEN=$second on 2 >out 2>err; then fail "$form: nothing was killed"; fi
        on 1 >out 2>err || fail "$form: the rest: $(tail -3 err)"
        same_as_one life "4, 2 and 1 ranks"
    done
fi

# ---- what ranks cannot share ----
cd "$work/records/one" || exit 1
# refused CODE PATTERN RANKS OPTIONS...: told once, by rank 0.
refused() {
    code=$1 pattern=$2
    shift 2
    expect "$code" on "$@"
    says "^regimen: .*$pattern" "$work/err"
    [ "$(grep -c "^regimen: .*$pattern" "$work/err")" = 1 ] || fail "not told once: $(cat "$work/err")"
}
refused 1 '3 ranks: sums over them need a power of two, so start 2 or 4' 3
refused 2 'runtime.shards' 2 --set runtime.shards=1
refused 2 'runtime.shards' 4 --set runtime.shards=2
refused 2 '2 ranks' 2 --mode eval
refused 2 'one process again, and there are 2 ranks' 2 --restarts 3
refused 2 'several runs, and there are 2 ranks' 2 --set runtime.seeds=2
# What one alone cannot read is told by rank 0, and why; rank 0 waits for nobody before it ends the others.
for alone in 1 0; do
    ALONE=$alone expect 2 ranks 2 sh -c '[ $OMPI_COMM_WORLD_RANK != $ALONE ] || set -- "$@" --set trainer.nothing=1; exec "$@"' sh \
        "$regimen" run ../data/run.yaml --run-dir other
    who="rank $alone on .*: "
    [ $alone != 0 ] || who=
    says "^regimen: $who.*unknown key 'trainer.nothing'" "$work/err"
done

# A file of the same name and length says something else on another host.
mkdir other_data
sed '7s/.*/0.5,0.5,0.5,1/' ../data/run.yaml.csv >other_data/run.yaml.csv
OTHER=$PWD/other_data expect 2 ranks 2 sh -c '[ $OMPI_COMM_WORLD_RANK = 0 ] || set -- "$@" --set data.path="$OTHER"; exec "$@"' sh \
    "$regimen" run ../data/run.yaml --run-dir unlike
# Each finds it; rank 0 tells it in the words of who said so first.
says '^regimen: (rank [01] on .*: )?rank 1 has files of another content than rank 0: ' "$work/err"

# A model and data of a program's own, with a metric that it gathers itself (examples/12_trial.c).
cd "$work" && mkdir -p own && cd own || exit 1
cat >own.yaml <<YAML
entrypoint: $RGM_BUILD/examples/moons.so
data: {noise: 0.2}
hyperparameters: {learning_rate: 0.01, batch_size: 16, net: {units: 16, dropout: 0.1}}
searcher: {name: single, metric: worst_accuracy, smaller_is_better: false, max_length: 2}
batches_per_step: 20
runtime: {shards: 2, threads: 1}
YAML
expect 0 "$regimen" run own.yaml --run-dir one
expect 0 ranks 2 "$regimen" run own.yaml --run-dir two
results="ckpt metrics.jsonl"
same_run one two "a program's own on two ranks"
unset results
says '"worst_accuracy":0[.]' one/metrics.jsonl

# ---- kills at random moments, another number of ranks behind each ----
random=$seed
draw() { # below $1
    random=$(((random * 1103515245 + 12345) % 2147483648))
    drawn=$((random / 65536 % $1))
}
round=0
made=0
while [ $made -lt "$kills" ] && [ $failures = 0 ]; do
    for form in records sampled translation; do
        round=$((round + 1))
        in_folder life
        while :; do
            draw 3
            number=$((1 << drawn))
            rm -f pid.*
            on $number >out 2>err &
            job=$!
            draw $number
            draw 900
            moment=$drawn
            draw $number
            sleep "0.$(printf %03d $moment)"
            [ $made -lt "$kills" ] && [ -s pid.$drawn ] && kill -KILL "$(cat pid.$drawn)" 2>/dev/null && made=$((made + 1))
            wait $job
            code=$?
            [ $code != 0 ] || break
            [ $code -ge 1 ] && grep -q '^regimen: ' err && ! grep -q 'rank [0-9]' err && fail "$form: $(grep '^regimen: ' err)"
            [ $failures = 0 ] || break
        done
        same_as_one life "killed and continued (round $round, SEED=$seed)"
    done
done
[ "$kills" = 0 ] || echo "$made kills; SEED=$seed"
finish
