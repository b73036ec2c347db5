#!/bin/sh
# Programs as trials: a shell script under every kind of searcher, stopped, killed and resumed; what it says wrongly,
# and how it fails; its code, which stays what it was when the search began.
. "$(dirname "$0")/lib.sh"
fast_work
here=$(cd "$(dirname "$0")/.." && pwd)
cd "$work" || exit 1
cp "$here/examples/14_program/descent.sh" "$here/examples/14_program/descent.yaml" .
# csv MASTER ID: what the trials of a search came to, without times.
csv() {
    "$regimen" experiment trials "$2" --master "$1" --csv | cut -d, -f2-7
}
# same NAME MASTER [ID]: the trials are those of the undisturbed search NAME.
same() {
    csv "$2" "${3:-1}" >again.csv
    cmp "$1.csv" again.csv || fail "$2: not the trials of $1"
}

# ---- a search, whole ---------------------------------------------------------------------------
expect 0 "$regimen" config check descent.yaml
expect 0 "$regimen" trial test descent.yaml
for tick in "opened +1 files of code" "trained a step +1 metrics" "validated +searcher's metric" "checkpointed +1 files"; do
    says "^. $tick" "$work/out"
done
expect 0 "$regimen" experiment run descent.yaml --master whole --slots 2
says "^state +COMPLETED" "$work/out"
[ "$(csv whole 1 | grep -c COMPLETED)" = 9 ] || fail "trials: $(csv whole 1)"
run=$(sed -n 's/^run *//p' "$work/out")
says '"split":"train","step":9,.*"w":' "$run/metrics.jsonl"
says '"split":"valid","step":9,.*"loss":' "$run/metrics.jsonl"
says '"learning_rate": ' "$run/trial.json"
says "^[0-9.e-]+$" "$run/checkpoints/step-00000009/w"
[ -L "$run/work/descent.sh" ] || fail "the program's folder has no link to its code"
expect 0 "$regimen" experiment best 1 --master whole -o best.yaml
expect 0 "$regimen" experiment run best.yaml --master best --slots 1
says "^best +valid.loss $(sed -n 's/^best *valid.loss \([^,]*\),.*/\1/p' "$work/out")" "$work/out"
expect 2 "$regimen" run best.yaml
says "is trained by a program" "$work/err"
expect 2 "$regimen" eval "$run"
says "is trained by a program" "$work/err"

expect 0 "$regimen" runs whole/1
says "^RUN +STATE +EPOCH +STEP" out
says "whole/1/[0-9]+ +finished +0 +9/9 " out
says "whole/1/[0-9]+ +stopped +0 +[13]/9 " out

# Its model, under a name: the newest checkpoint as the program wrote it, with the code.
expect 0 "$regimen" model register descent 1/1 --master whole --registry kept
says "descent:1, from trial 1/1" "$work/err"
last=$(ls whole/1/1/checkpoints | grep '^step-[0-9]*$' | tail -1)
cmp "whole/1/1/checkpoints/$last/w" "kept/models/descent/1/checkpoints/$last/w" || fail "not the newest checkpoint"
cmp whole/1/code/descent.sh kept/models/descent/1/code/descent.sh || fail "not the code"
[ -e kept/models/descent/1/work ] && fail "the program's folder is registered"
expect 0 "$regimen" model path descent --registry kept
expect 1 "$regimen" model register descent 1/1 --master whole --registry kept --step 4711
says "has no checkpoint of step 4711" "$work/err"
expect 2 "$regimen" model register all whole --registry kept
says "whole has a master's folder in it, whole/master.db: what is registered is a trial" "$work/err"
mkdir -p around/inner && cp whole/master.db around/inner
expect 2 "$regimen" model register all around --registry other
says "around has a master's folder in it, around/inner/master.db" "$work/err"
REGIMEN_REGISTRY=$work/kept expect 2 "$regimen" predict model:descent
says "is trained by a program" "$work/err"
expect 1 "$regimen" experiment create descent.yaml --master wrong --set code_folder=nowhere
says "code_folder: there is no folder $work/nowhere" "$work/err"

# The starter, in Python without packages.
expect 0 "$regimen" init program line
if python3 -c 'import json' 2>/dev/null; then
    expect 0 "$regimen" experiment run line/train.yaml --master line --slots 2
    awk '$1 == "best" { good = $3 < 0.05 } END { exit !good }' out || fail "the starter: $(cat out)"
else
    echo "SKIPPED in part: there is no python3"
fi

# ---- every kind of searcher --------------------------------------------------------------------
for searcher in '{name: random, metric: loss, max_trials: 3, max_length: 4}' \
    '{name: single, metric: loss, max_length: {batches: 5}}' \
    '{name: adaptive_asha, metric: loss, max_trials: 4, max_length: 4, divisor: 2, stop_once: true}' \
    '{name: median, metric: loss, max_trials: 4, max_length: 4, interval: 1}' \
    '{name: pbt, metric: loss, population_size: 3, num_rounds: 2, steps_per_round: 2, replace_function: {truncate_fraction: 0.4}, explore_function: {resample_probability: 0.2, perturb_factor: 0.2}}'; do
    rm -rf kind
    expect 0 "$regimen" experiment run descent.yaml --master kind --slots 2 --set "searcher=~" --set "searcher=$searcher"
    says "^state +COMPLETED" "$work/out"
done

# ---- stopped and resumed -----------------------------------------------------------------------
# (Which trials a halving promotes depends on who reports first; those of random are the same in any order.)
random='{name: random, metric: loss, max_trials: 4, max_length: 6}'
expect 0 "$regimen" experiment run descent.yaml --master even --slots 2 --set "searcher=~" --set "searcher=$random"
csv even 1 >even.csv

# The process of each trial is killed three times, at its first, second and fifth step: the same trials.
sed 's|^            step=.*|&\n            case $step in 1 \| 2 \| 5) [ -e "killed-$step" ] \|\| { touch "killed-$step" \&\& kill -9 $$; } ;; esac|' \
    descent.sh >killed.sh
chmod +x killed.sh
sed 's/descent.sh/killed.sh/' descent.yaml >killed.yaml
expect 0 "$regimen" experiment run killed.yaml --master killed --slots 2 --set "searcher=~" --set "searcher=$random"
same even killed
"$regimen" experiment logs 1 --master killed >log
says "was ended by signal 9" log

# The master is killed four times, each time behind four more steps; its trials' processes live on, or go with it.
steps() { "$regimen" experiment trials 1 --master storm --csv | awk -F, 'NR > 1 { n += $4 } END { print n + 0 }'; }
at_least() { [ "$(steps)" -ge "$1" ]; }
for least in 4 8 12 16; do
    "$regimen" experiment run descent.yaml --master storm --slots 2 --set "searcher=~" --set "searcher=$random" >/dev/null 2>&1 &
    master=$!
    wait_for at_least $least
    kill -9 "$master"
    wait "$master" 2>/dev/null
done
expect 0 "$regimen" experiment run descent.yaml --master storm --slots 2 --set "searcher=~" --set "searcher=$random"
same even storm

# Paused behind their second step, and activated: nothing is lost, nothing is done twice.
sed 's|^            step=.*|&\n            [ $step != 2 ] \|\| until [ -e "$GO" ]; do sleep 0.02; done|' descent.sh >waits.sh
chmod +x waits.sh
sed 's/descent.sh/waits.sh/' descent.yaml >waits.yaml
GO=$work/go "$regimen" master --master paused --slots 4 --threads 1 >/dev/null 2>&1 &
master=$!
wait_for "$regimen" experiment list --master paused
expect 0 "$regimen" experiment create waits.yaml --master paused --set "searcher=~" --set "searcher=$random"
all_at() { [ "$("$regimen" experiment trials 1 --master paused --csv | cut -d, -f4 | grep -c "$1")" = 4 ]; }
none_runs() { "$regimen" experiment describe 1 --master paused --json | grep -q '"running": 0'; }
wait_for all_at 1
expect 0 "$regimen" experiment pause 1 --master paused
touch go
wait_for none_runs
all_at 2 || fail "not paused behind step 2: $(csv paused 1)"
expect 0 "$regimen" experiment activate 1 --master paused
expect 0 "$regimen" experiment wait 1 --master paused
same even paused
kill "$master"
wait "$master"

# ---- how programs fail -------------------------------------------------------------------------
# fails NAME PATTERN SCRIPT...: a search of one trial whose program is the script ends with that message.
fails() {
    rm -rf "$1"
    printf '#!/bin/sh\n%s\n' "$3" >"$1.sh"
    chmod +x "$1.sh"
    cat >"$1.yaml" <<YAML
entrypoint: [./$1.sh]
hyperparameters: {a: 1}
searcher: {name: single, metric: loss, max_length: 2}
max_restarts: 0
YAML
    expect 1 "$regimen" experiment run "$1.yaml" --master "$1" --slots 1
    "$regimen" trial describe 1 --master "$1" --json >"$1.json"
    says "$2" "$1.json"
}
fails crash 'ended with exit code 3; it last said:.*no such thing' 'echo no such thing >&2; exit 3'
fails usage 'ended with exit code 2; it last said:.*no such option' 'echo no such option >&2; exit 2'
sed 's/^max_restarts: 0/max_restarts: 5/' usage.yaml >final.yaml # and it is not begun again
expect 1 "$regimen" experiment run final.yaml --master final --slots 1
"$regimen" trial describe 1 --master final --json >final.json
says '"restarts": 1,' final.json
fails early 'stands at step 0 and is told to train to 2, and it ended with exit code 0, without a word' 'exit 0'
fails beyond 'a report of step 3, but the trial stands at step 0 and is told to train to 2' 'regimen trial report --step 3 loss=1'
fails unvalidated "a report of step 3, but the validation of step 2 is waited for" \
    'regimen trial report --step 2 && regimen trial report --step 3'
fails lacking "searcher.metric: the validation of step 2 has no 'valid.loss'; it has los" \
    'regimen trial report --validation --step 2 los=1'
fails empty 'a checkpoint of step 2 is told, but nothing was written to ' \
    'regimen trial report --validation --step 2 loss=1; regimen trial checkpoint --step 2 || exit 4'
fails unsaved 'a checkpoint of step 2 is waited for, and it ended with exit code 0' \
    'regimen trial report --validation --step 2 loss=1; echo 1 >"$REGIMEN_SAVE/a"; exit 0'

# Hyperparameters that cannot be: the searcher puts others in their place, and three trials are there in the end.
printf '#!/bin/sh\n[ "$1" -gt 2 ] || { regimen trial invalid "a is $1, and too small"; sleep 60; }\n%s\n' \
    'regimen trial report --validation --step 1 loss=$1; cp "$0" "$REGIMEN_SAVE"; regimen trial checkpoint --step 1' >invalid.sh
chmod +x invalid.sh
cat >invalid.yaml <<'YAML'
entrypoint: [./invalid.sh, "{a}"]
hyperparameters: {a: {type: int, minval: 1, maxval: 4}}
searcher: {name: random, metric: loss, max_trials: 3, max_length: 1}
reproducibility: {experiment_seed: 1}
YAML
expect 0 "$regimen" experiment run invalid.yaml --master invalid --slots 2
csv invalid 1 >invalid.csv
[ "$(grep -c COMPLETED invalid.csv)" = 3 ] || fail "invalid: $(cat invalid.csv)"
"$regimen" experiment trials 1 --master invalid --json >invalid.json
says 'invalid hyperparameters: a is [12], and too small' invalid.json

# A program that waits for what never comes is ended; one that works is not.
sed 's/^max_restarts.*/&\nlimits: {silent_seconds: 2}/' crash.yaml >silent.yaml
printf '#!/bin/sh\nexec sleep 1000\n' >crash.sh
expect 1 "$regimen" experiment run silent.yaml --master silent --slots 1
"$regimen" trial describe 1 --master silent --json >silent.json
says 'silent_seconds' silent.json
pgrep -f "^sleep 1000$" >/dev/null && fail "what a program has started outlives it"

# A metric that is no number is the worst of all, and nothing breaks.
cat >nan.sh <<'SH'
#!/bin/sh
regimen trial report --step 1 loss=nan
regimen trial report --validation --step 1 loss=$1
echo 1 >"$REGIMEN_SAVE/a"
regimen trial checkpoint --step 1
regimen trial should-stop
SH
chmod +x nan.sh
cat >nan.yaml <<'YAML'
entrypoint: [./nan.sh, "{a}"]
hyperparameters: {a: {type: categorical, vals: [nan, 2, inf]}}
searcher: {name: grid, metric: loss, max_length: 1}
YAML
expect 0 "$regimen" experiment run nan.yaml --master nan --slots 1
says "^best +valid.loss 2, " "$work/out"
[ "$(csv nan 1 | grep -c COMPLETED)" = 3 ] || fail "nan: $(csv nan 1)"

# ---- its code stays what it was ----------------------------------------------------------------
# A search that was begun, and then edited: the trials are those of before. In git: the commit and the difference.
mkdir -p project/lib
cp descent.sh descent.yaml project
sed -i 's|^entrypoint.*|&\ninclude: ["*.txt", lib]|' project/descent.yaml
echo words >project/notes.txt
echo more >project/lib/more
says_git=:
if command -v git >/dev/null; then
    says_git=says
    (cd project && git init -q -b main . && git add . && git -c user.name=a -c user.email=a@b commit -q -m first && echo changed >notes.txt)
    # Nothing runs that the folder's configuration names.
    echo '*.txt filter=spy diff=spy' >project/.gitattributes
    (cd project && git config filter.spy.clean "touch $work/spied; cat" && git config filter.spy.required true &&
        git config core.fsmonitor "touch $work/spied" && git config diff.spy.textconv "touch $work/spied; cat")
fi
cd project || exit 1
expect 0 "$regimen" experiment create descent.yaml --master ../kept --paused --set "searcher=~" --set "searcher=$random"
cd .. || exit 1
# Nor what would fetch a file that a partial clone lacks.
if command -v git >/dev/null; then
    cp -r project lazy
    (cd lazy && blob=$(git rev-parse HEAD:notes.txt) && rm -f ".git/objects/${blob%"${blob#??}"}/${blob#??}" &&
        git config core.repositoryformatversion 1 && git config extensions.partialClone origin &&
        git config remote.origin.promisor true && git config remote.origin.url ssh://nowhere/it &&
        git config core.sshCommand "touch $work/spied; false")
    cd lazy || exit 1
    expect 0 "$regimen" experiment create descent.yaml --master ../lazy_kept --paused --set "searcher=~" --set "searcher=$random"
    cd .. || exit 1
fi
sed -i 's/ 2 \* / 3 * /' project/descent.sh
expect 0 "$regimen" experiment run project/descent.yaml --master kept --slots 2 --set "searcher=~" --set "searcher=$random"
says "what the entrypoint names is not what it was when the experiment began" "$work/err"
same even kept
[ -e spied ] && fail "git ran what the folder's configuration names"
expect 0 "$regimen" experiment code 1 --master kept
says "^descent.sh +[0-9]+ +[0-9a-f]{16}$" "$work/out"
says "^lib/more +5 " "$work/out"
says "^notes.txt +[0-9]+ " "$work/out"
says "^from +$work/project$" "$work/err"
$says_git "^git +main [0-9a-f]{40}, with changes since$" "$work/err"
expect 0 "$regimen" experiment code 1 --master kept -o unpacked
cmp descent.sh unpacked/descent.sh || fail "what is unpacked is not what it was"
$says_git "^\+changed$" unpacked/git.diff
expect 2 "$regimen" experiment code 1 --master kept -o unpacked
expect 0 "$regimen" experiment run project/descent.yaml --master kept --slots 2 --new --set "searcher=~" --set "searcher=$random"
expect 0 "$regimen" experiment code 1 2 --master kept
says "^--- 1/descent.sh$" "$work/out"
says "^-.*- .rate \* 2 \* " "$work/out"
says "^\+.*- .rate \* 3 \* " "$work/out"
grep -q experiment.yaml "$work/out" && fail "two of the same file differ in it"
expect 0 "$regimen" experiment code 1 1 --master kept
says "have the same file and the same code" "$work/err"
# Whoever changes a kept file is told by the next trial.
chmod u+w kept/1/code/descent.sh
echo "# tampered" >>kept/1/code/descent.sh
expect 1 "$regimen" experiment continue 1 --steps 2 --master kept
says "is not the code that experiment 1 was made with any more" "$work/err"

# ---- what the file says wrongly ----------------------------------------------------------------
expect 2 "$regimen" config check descent.yaml --set 'entrypoint=[./descent.sh, "{learning_rat}"]'
says "'learning_rat' in braces is no hyperparameter; did you mean 'learning_rate'" "$work/err"
expect 2 "$regimen" config check descent.yaml --set 'entrypoint=[./descent.sh, "{learning_rate"]'
says "a brace of '{learning_rate' stands alone" "$work/err"
expect 2 "$regimen" config check descent.yaml --set 'entrypoint=[]'
says "the first word of a command is a program" "$work/err"
expect 2 "$regimen" config check descent.yaml --set trainer.epochs=3
says "'trainer' beside 'entrypoint', whose program says all of it" "$work/err"
expect 1 "$regimen" experiment create descent.yaml --master wrong --set 'entrypoint=[descent.sh]'
says "there is no program 'descent.sh' on the PATH; the one beside the file is ./descent.sh" "$work/err"
expect 1 "$regimen" experiment create descent.yaml --master wrong --set 'entrypoint=[./ascent.sh]'
says "entrypoint: there is no ./ascent.sh in $work" "$work/err"
expect 1 "$regimen" experiment create descent.yaml --master wrong --set 'include=[nothing*]'
says "include: nothing matches $work/nothing\*" "$work/err"
expect 2 "$regimen" experiment create descent.yaml --master wrong --set 'include=[../*]'
says "'../\*' is no pattern of files below the code's folder" "$work/err"
expect 2 "$regimen" trial report --step 1 loss=1
says "this process belongs to no trial: REGIMEN_SOCKET is not set" "$work/err"
expect 2 "$regimen" trial should-stop

# ---- a program that cannot be started, and one that says nothing while it is tried --------------
sed 's|^entrypoint:.*|entrypoint: [./silent.sh]|' descent.yaml >silent.yaml
printf '#!/bin/sh\necho $$ >"%s/silent.pid"\nexec sleep 600\n' "$work" >silent.sh
expect 1 "$regimen" trial test silent.yaml
says "'./silent.sh' may not be executed: chmod \\+x it, or put its interpreter before it" "$work/err"
printf 'echo "one thing" >&2\necho "and another" >&2\nexit 3\n' >two.sh
expect 1 "$regimen" trial test descent.yaml --set 'entrypoint=[sh, two.sh]'
says "ended with exit code 3; it last said: one thing \\| and another$" "$work/err"
chmod +x silent.sh
expect 1 "$regimen" trial test silent.yaml --set limits.silent_seconds=1
says "the program said nothing and used no processor for 1 s .limits.silent_seconds.: it is ended" "$work/err"
kill -0 "$(cat silent.pid)" 2>kill.err && fail "a silent try leaves its program"
rm silent.pid
mkdir tried
TMPDIR=$work/tried "$regimen" trial test silent.yaml >out 2>err &
tries=$!
wait_for [ -s silent.pid ]
kill "$tries"
wait "$tries"
[ $? = 1 ] || fail "a try that was stopped: $(cat err)"
says "stopped while the program was waited for" "$work/err"
kill -0 "$(cat silent.pid)" 2>kill.err && fail "a try that was stopped leaves its program"
[ -z "$(ls tried)" ] || fail "a try that was stopped leaves $(ls tried)"
finish
