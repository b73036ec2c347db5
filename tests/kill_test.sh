#!/bin/sh
# A run killed with SIGKILL at random moments and continued by the same command ends with the same
# bytes; so do 1 and 2 threads. KILLS (default 200) moments over seven forms of a run. Three of one graph: epochs
# of one pass, epochs with validations inside them, steps with loops across their ends; with averages, several
# batches an update, the two best checkpoints kept and the best weights saved by themselves. Four whose
# positions lie inside a pass: shuffled records, a mix of records, subgraphs sampled on the way, translation. The last
# five let a thread write the checkpoints on the way (trainer.checkpoint.asynchronous). The moments
# come from SEED, which is printed; they are parts of the time that the whole run takes, so they fall into
# start, steps, saves (saves are frequent) and export alike.
. "$(dirname "$0")/lib.sh"
fast_work
recovery_experiment "$work/small.yaml"
cd "$work" || exit 1
kills=${KILLS:-200}
seed=${SEED:-$(od -An -N3 -tu4 /dev/urandom | tr -d ' ')}
awk -v s="$seed" -v n=$((4 * kills + 100)) 'BEGIN { srand(s); for (i = 0; i < n; i++) print rand() }' >moments

milliseconds() { echo $(($(date +%s%N) / 1000000)); }

# form_options NAME: what the form adds to the experiment.
form_options() {
    case $1 in
    passes) echo "--set trainer.epochs=120 --set trainer.checkpoint.every_steps=4" ;;
    epochs) echo "--set trainer.epochs=16 --set trainer.steps_per_epoch=7 \
                  --set trainer.validation_per_epoch=3 --set trainer.checkpoint.every_epochs=1" ;;
    steps) echo "--set trainer.epochs=~ --set trainer.train_steps=120 --set trainer.steps_per_loop=7 \
                 --set trainer.validation_interval=9 --set trainer.checkpoint.every_steps=4 \
                 --set trainer.checkpoint.asynchronous=true" ;;
    *) echo "--set trainer.train_steps=90 --set trainer.checkpoint.keep=3 --set trainer.checkpoint.every_steps=3 \
             --set trainer.checkpoint.asynchronous=true" ;;
    esac
}

# experiment FORM: the file.
experiment() {
    case $1 in
    passes | epochs | steps) echo small.yaml ;;
    *) echo "$1.yaml" ;;
    esac
}

# whole FORM: the run that nothing interrupts, and how long it takes.
whole() {
    # shellcheck disable=SC2046
    set -- "$1" $(form_options "$1")
    form=$1
    shift
    begun=$(milliseconds)
    "$regimen" run "$(experiment "$form")" "$@" --run-dir "whole-$form" >/dev/null 2>err ||
        fail "the whole run failed: $(tail -1 err)"
    length=$(($(milliseconds) - begun))
    "$regimen" run "$(experiment "$form")" "$@" --run-dir "again-$form" >/dev/null 2>err ||
        fail "the second run failed: $(tail -1 err)"
    same_run "whole-$form" "again-$form" "the same command twice ($form)"
}

# kill_until FORM COUNT: runs of the form, each killed up to 10 times, until so many kills were made in all.
# A life that ends before its moment is none.
kill_until() {
    form=$1 upto=$2 round=0
    # shellcheck disable=SC2046
    set -- $(form_options "$form")
    while [ "$killed" -lt "$upto" ] && [ "$failures" = 0 ]; do
        rm -rf "life-$form"
        lives=0
        round=$((round + 1))
        while :; do
            "$regimen" run "$(experiment "$form")" "$@" --run-dir "life-$form" >/dev/null 2>err &
            pid=$!
            if [ "$lives" -lt 10 ] && [ "$killed" -lt "$upto" ]; then
                moment=$((moment + 1))
                sleep "$(awk -v n=$moment -v ms="$length" \
                             'NR == n { printf "%.4f", $1 * ms / 1000 }' moments)"
                kill -KILL $pid 2>/dev/null
                lives=$((lives + 1))
            fi
            wait $pid 2>/dev/null
            code=$?
            [ $code = 137 ] || break
            killed=$((killed + 1))
            for left in "life-$form"/ckpt/*.tmp-* "life-$form"/best/*.tmp-*; do
                [ -e "$left" ] && inside=$((inside + 1)) && break
            done
        done
        [ $code = 0 ] || fail "$form: a life ended with $code: $(tail -1 err)"
        same_run "whole-$form" "life-$form" "killed and continued ($form, round $round, SEED=$seed)"
    done
}

killed=0
inside=0
moment=0
form_count=0
for form in records mixed sampled translation; do position_experiment $form $form.yaml; done
for form in passes epochs steps records mixed sampled translation; do
    form_count=$((form_count + 1))
    whole $form
    kill_until $form $((kills * form_count / 7))
done
echo "$killed kills, $inside of them seen inside a save; SEED=$seed"

sed 's/threads: 2/threads: 1/' small.yaml >one.yaml
mv small.yaml two.yaml && mv one.yaml small.yaml
# shellcheck disable=SC2046
"$regimen" run small.yaml $(form_options steps) --run-dir one >/dev/null 2>err ||
    fail "the run with one thread failed: $(tail -1 err)"
same_run whole-steps one "1 and 2 threads"
finish
