#!/bin/sh
# A storm over programs as trials: masters, trials' processes and programs killed at moments that are drawn (SEED), a disk
# that is full, trials that cannot start, a bound on room, and what logs say of failures. The trials are those of a
# search that nothing happened to.
. "$(dirname "$0")/lib.sh"
regimen=$(realpath "$regimen")
fast_work
here=$(cd "$(dirname "$0")/.." && pwd)
cd "$work" || exit 1
unset REGIMEN_MASTER
seed=${SEED:-$(od -An -N3 -tu4 /dev/urandom | tr -d ' ')}
kills=${KILLS:-12}
cp "$here/examples/14_program/descent.yaml" .
# 200 kB a checkpoint: a disk and a bound on room are full soon.
sed 's|echo \$w >"\${order#save }/w"|&; head -c 200000 /dev/zero >"${order#save }/more"|' \
    "$here/examples/14_program/descent.sh" >descent.sh
grep -q 'head -c 200000' descent.sh || fail "the example is another one"
chmod +x descent.sh
run() { # run MASTER ARGUMENTS...: the search, of which the trials are the same in any order
    where=$1
    shift
    search run "$where" --slots 2 --threads 1 "$@"
}
search() { # search VERB MASTER ARGUMENTS...
    verb=$1 where=$2
    shift 2
    "$regimen" experiment "$verb" descent.yaml --master "$where" --set "searcher=~" \
        --set 'searcher={name: random, metric: loss, max_trials: 4, max_length: 5}' \
        --set checkpoint_policy=all --set min_checkpoint_period=1 --set max_restarts=100 "$@"
}
csv() { "$regimen" experiment trials "${2:-1}" --master "$1" --csv | cut -d, -f2-7; }
same() {
    csv "$1" >found.csv
    cmp -s even.csv found.csv || fail "$1: not the trials of an undisturbed search: $(diff even.csv found.csv)"
    [ -z "$(processes "$1")" ] || fail "$1: processes are left"
}
# processes MASTER: of its trials, workers and programs.
processes() {
    for process in /proc/[0-9]*; do
        grep -qsz "^REGIMEN_RUN=.*:.*/$1\$" "$process/environ" && echo "${process#/proc/}"
    done
}
expect 0 run even
csv even >even.csv
[ "$(grep -c ',COMPLETED,' even.csv)" = 4 ] || fail "undisturbed: $(cat even.csv)"

# ---- kills -------------------------------------------------------------------------------------
sed -i 's|^            step=|            sleep 0.3; step=|' descent.sh # time to be killed in, and to be looked at
random=$seed
draw() { # below $1
    random=$(((random * 1103515245 + 12345) % 2147483648))
    drawn=$((random / 65536 % $1))
}
made=0 code=1
while [ $code != 0 ] && [ $failures = 0 ]; do
    run storm -q >first 2>&1 &
    master=$!
    while [ $made -lt "$kills" ] && kill -0 $master 2>/dev/null; do
        draw 300
        sleep "0.$(printf %03d "$drawn")"
        draw 4
        victim=$(pgrep -P $master | head -n 1) # a function in the background is a shell of its own
        if [ $drawn != 0 ]; then
            all=$(processes storm)
            count=$(echo "$all" | wc -l)
            draw "$count"
            victim=$(echo "$all" | sed -n "$((drawn + 1))p")
        fi
        [ -n "$victim" ] && kill -KILL "$victim" 2>/dev/null && made=$((made + 1))
    done
    wait $master
    code=$?
    [ $code = 0 ] || [ $code = 137 ] || { fail "killed and continued: $code, $(tail -n 3 first)"; cat storm/1/*/trial.log | tail -5; }
done
same storm
[ $made -ge 5 ] || fail "the search was over after $made kills"
echo "$made kills; SEED=$seed"

# ---- a full disk -------------------------------------------------------------------------------
# A file system of its own that has room for two checkpoints and is then filled: trials wait, and go on when there is room.
mkdir disk
if mount -t tmpfs -o size=6m none disk 2>/dev/null; then
    trap 'umount "$work/disk"; rm -rf "$work"' EXIT
    head -c 5400000 /dev/zero >disk/filled
    run disk/full --set checkpoint_storage.save_trial_latest=1 >first 2>&1 &
    master=$!
    full() { grep -Eq 'No space left on device|has .* GB free' first disk/full/1/*/trial.log; }
    wait_for full
    rm disk/filled
    kill -0 $master 2>/dev/null && "$regimen" experiment activate 1 --master disk/full >out 2>&1 # not to wait for the next try
    wait $master || expect 0 run disk/full
    "$regimen" experiment trials 1 --master disk/full --csv | cut -d, -f2-7 >found.csv
    cmp -s even.csv found.csv || fail "full: not the trials of an undisturbed search: $(diff even.csv found.csv)"
    umount disk
    trap 'rm -rf "$work"' EXIT
else
    echo "SKIPPED in part: no file system can be mounted here"
fi

# ---- trials that cannot start ------------------------------------------------------------------
# The folder of one is a file: it waits alone, with the reason, while others go on; the code has gone: all wait.
expect 0 search create stuck --paused
mkdir -p stuck/1
echo "no folder" >stuck/1/2
"$regimen" master --master stuck --slots 2 --threads 1 >master.out 2>master.err &
master=$!
wait_for [ -S stuck/master.sock ]
expect 0 "$regimen" experiment activate 1 --master stuck
others_over() { [ "$("$regimen" experiment trials 1 --master stuck --csv | grep -c ',COMPLETED,')" = 3 ]; }
wait_for others_over
"$regimen" queue --master stuck >queue 2>&1
says "cannot make the folder .*stuck/1/2" queue
rm stuck/1/2
expect 0 "$regimen" experiment activate 1 --master stuck
expect 0 "$regimen" experiment wait 1 --master stuck
same stuck
kill $master
wait $master

# ---- a bound on room ---------------------------------------------------------------------------
"$regimen" master --master bound --slots 2 --threads 1 >master.out 2>master.err &
master=$!
wait_for [ -S bound/master.sock ]
expect 0 search create bound --set limits.disk_bytes=900000
paused() { "$regimen" experiment list --master bound --csv | grep -q PAUSED; }
wait_for paused
expect 0 "$regimen" experiment describe 1 --master bound --json
says '"message": "its folder has .*: limits.disk_bytes is 0.9 MB; raise it' out
[ "$(du -s --block-size=1 bound/1 | cut -f1)" -le 1400000 ] || fail "the bound was passed: $(du -s bound/1)"
expect 0 "$regimen" experiment set 1 limits.disk_bytes=90000000 --master bound
expect 0 "$regimen" experiment activate 1 --master bound
expect 0 "$regimen" experiment wait 1 --master bound
same bound
kill $master
wait $master

# ---- what logs say -----------------------------------------------------------------------------
cat >logs.yaml <<'YAML'
entrypoint: [sh, says.sh]
hyperparameters: {a: 1}
searcher: {name: single, metric: loss, max_length: 2}
max_restarts: 5
logs: {fatal: ["device [0-9]+ is gone"], drain: ["ECC error"]}
YAML
echo 'echo "hello"; echo "device 7 is gone" >&2; echo "an ECC error"; exit 1' >says.sh
expect 1 "$regimen" experiment run logs.yaml --master logs --slots 1 --threads 1
expect 0 "$regimen" trial describe 1 --master logs --json
says "its log has 'device 7 is gone', with which no other try succeeds .logs.fatal." out
says '"restarts": 1' out
expect 0 "$regimen" master slots --master logs
says "^ *0 +drained" out
expect 0 "$regimen" trial logs 1 --grep '^device|^an E' --master logs
[ "$(sort out)" = "$(printf 'an ECC error\ndevice 7 is gone')" ] || fail "grep: $(cat out)"
expect 1 "$regimen" trial logs 1 --grep '(' --master logs
says "is no pattern" err
expect 1 "$regimen" trial logs 1 --grep '(a)\1' --master logs
says "refers back" err
expect 2 "$regimen" config check logs.yaml --set 'logs.fatal=["["]'
says "logs.fatal: '\[' is no pattern" err
finish
