#!/bin/sh
# `regimen answer`: hostile requests, newer versions and a damaged one while others ask, an end and a new start under load,
# a model of a registry; `translate` of an export; a language model's predictions and streams.
. "$(dirname "$0")/lib.sh"
top=$(cd "$(dirname "$0")" && pwd)
XDG_STATE_HOME=$work/state
export XDG_STATE_HOME
cd "$work" || exit 1

# answer ARGUMENTS...: in the background; $address, $token and $server once it listens.
answer() {
    rm -f told
    "$regimen" answer "$@" >told 2>log &
    server=$!
    wait_for grep -qs '^token ' told || fail "nothing is served: $(cat log)"
    address=$(sed -n 's/^answer *//p' told)
    token=$(sed -n 's/^token *//p' told)
}

# ended WHAT: soon after the signal that it was sent.
ended() {
    wait_for sh -c "! kill -0 $server" || fail "$1: it lives on"
    wait "$server"
    code=$?
    [ "$code" = 0 ] || fail "$1: exit $code: $(cat log)"
}

# ask PATH [BODY]: on stdout.
ask() {
    python3 -c '
import sys, urllib.request
headers = {"Authorization": "Bearer " + sys.argv[2]} if sys.argv[2] else {}
body = sys.argv[4].encode() if len(sys.argv) > 4 else None
print(urllib.request.urlopen(urllib.request.Request(sys.argv[1] + sys.argv[3], body, headers)).read().decode(), end="")
' "$address" "$token" "$@"
}

# answered N: the server has answered more requests than that.
answered() {
    [ "$(ask /metrics | sed -n 's/^regimen_requests_total.model="words",code="200". //p')" -gt "$1" ]
}

version_is() {
    ask /v1/models/words | grep -q "\"version\": \"$1\""
}

# A run of lines, twice, and one of rows.
position_experiment translation words.yaml
sed -i 's/train_steps: 23/train_steps: 3/; s/type: onnx/type: predictor/' words.yaml
expect 0 "$regimen" run words.yaml --run-dir words
expect 0 "$regimen" run words.yaml --run-dir again --set runtime.seed=4
awk -v OFS=, 'BEGIN { for (i = 0; i < 60; i++) print i % 16, i * 3 % 16, i * 5 % 16, i * 7 % 16, i % 3 }' >cells.csv
cat >cells.yaml <<'YAML'
data: {path: ., train: cells.csv, batch_size: 20}
task: {type: classification, class_names: [red, green, blue]}
model: {type: mlp, hidden: [8]}
optimizer: {type: adam, learning_rate: 1e-2}
trainer: {epochs: 2}
export: [{type: onnx}]
YAML
expect 0 "$regimen" run cells.yaml --run-dir cells

# A language model whose texts go on: the end of its only document is rare.
awk 'BEGIN { split("one two three", w, " "); for (i = 0; i < 300; i++) printf "%s ", w[1 + i % 3] }' >words.txt
cat >prose.yaml <<'YAML'
data: {path: ., train: [words.txt], documents: files, packing: stream, train_tokenizer: {type: bpe, vocab_size: 30},
       block_length: 16, batch_tokens: 64}
task: {type: language_model, generate: {temperature: 0, max_tokens: 12}}
model: {type: decoder_transformer, embedding_width: 16, max_positions: 200000, positions: alibi,
        decoder: {num_layers: 1, num_attention_heads: 2, intermediate_size: 16}}
optimizer: {type: adam, learning_rate: 0.01}
trainer: {train_steps: 6}
export: [{type: predictor}]
YAML
expect 0 "$regimen" run prose.yaml --run-dir prose

# An export is translated with as its run is, and asked alone.
printf '3 4 5\n\n7 2\n' >lines
expect 0 "$regimen" translate words <lines
cp out by_run
expect 0 "$regimen" translate words/export --threads 1 <lines
cmp -s out by_run || fail "an export translates otherwise than its run"
expect 0 "$regimen" translate words/export --beam 1 --scores <lines
expect 2 "$regimen" translate words/export --last <lines
expect 2 "$regimen" translate cells/export <lines
says 'another task than translation' err
expect 1 "$regimen" predict words/export --input lines
says "'regimen translate' has what it predicts" err

answer words/export cells prose/export --listen 127.0.0.1:0
python3 -B "$top/answer_hostile.py" "$address" "$token" "$server" || fail "hostile requests"
ask /v1/models/words:predict '{"instances": ["3 4 5"]}' >out
says "\"text\": \"$(head -1 by_run)\"" out
ask /v1/models/cells:predict '{"instances": [[1, 2, 3, 4]]}' >out
says '^\{"predictions": \[\{"classification_logits": \[[-0-9.]+, [-0-9.]+, [-0-9.]+\], "probabilities": \[0\.' out
ask /v1/models/cells/metadata >out
says '"classes": \["red", "green", "blue"\]' out
ask /metrics >out
says '^regimen_requests_total\{model="words",code="200"\} [1-9][0-9]+$' out
says '^regimen_request_seconds_bucket\{model="words",le="0.5"\} [1-9]' out
kept=$token
token=
[ "$(ask /readyz)" = ok ] || fail "it is not ready"
token=$kept
kill -TERM "$server"
ended SIGTERM

# Predictions and streams are what `generate` writes; who goes away gives the place back; the end tells who reads on.
printf 'one two\n\nthree on\n' >prompts
expect 0 "$regimen" generate prose/export --input prompts --max-tokens 30 --stop thr --json
cp out generated
answer prose=prose/export --listen 127.0.0.1:0 --drain 0.3
python3 -B "$top/answer_stream.py" "$address" "$token" whole generated || fail "streams"
python3 -B "$top/answer_stream.py" "$address" "$token" gone || fail "a stream that nobody reads"
python3 -B "$top/answer_stream.py" "$address" "$token" until >reading 2>&1 &
reading=$!
wait_for grep -qs begun reading
kill -TERM "$server"
ended "SIGTERM with a stream"
wait "$reading" || fail "a stream at the end: $(cat reading)"

# What is written into the folder takes over when it stands still; half of it does not.
cp -r words/export served
answer words=served --listen 127.0.0.1:0 --reload 0.2
python3 -B "$top/answer_load.py" "$address" "$token" until=enough >load 2>&1 &
asking=$!
head -c 300 again/export/model.safetensors >served/model.safetensors
wait_for grep -q '^model *words: version 1 stays: served/model.safetensors' log
version_is 1 || fail "a damaged version is served"
ask /v1/models/words >out
says 'FAILED_PRECONDITION' out
cp again/export/model.safetensors served/model.safetensors
wait_for version_is 2
cp words/export/model.safetensors served/model.safetensors
wait_for version_is 3
touch enough
wait "$asking" || fail "requests were lost: $(cat load)"
says '^load +[0-9]+ requests of versions 1 2 3, 0 asked again$' load

# It ends and begins anew under load: nothing that was accepted is lost. Killed, it loses what it was at.
port=${address##*:}
rm -f enough
kill -INT "$server"
ended SIGINT
answer words=served --listen "127.0.0.1:$port"
first=$token
python3 -B "$top/answer_load.py" "$address" "$token" until=enough again >load 2>&1 &
asking=$!
for signal in TERM KILL TERM; do
    wait_for answered 20
    kill -$signal "$server"
    [ $signal = KILL ] || ended "SIG$signal under load"
    [ $signal != KILL ] || wait "$server" 2>/dev/null
    answer words=served --listen "127.0.0.1:$port"
done
touch enough
wait "$asking" || fail "a restart lost requests: $(cat load)"
[ "$token" = "$first" ] || fail "a restart has another token"
[ "$(stat -c %a "state/regimen/answer-127.0.0.1-$port")" = 600 ] || fail "others may read the token"
expect 1 "$regimen" answer words=served --listen "127.0.0.1:$port"
says 'another program' err
kill -TERM "$server"
ended "SIGTERM at the end"

# Of a registry, by stage.
expect 0 "$regimen" model register words words --registry registry
expect 0 "$regimen" model register words again --registry registry
expect 0 "$regimen" model stage words:1 production --registry registry
answer model:words@production --registry registry --listen 127.0.0.1:0 --reload 0.2
version_is 1 || fail "the version in production is 1"
expect 0 "$regimen" model stage words:2 production --registry registry
wait_for version_is 2
kill -TERM "$server"
ended "SIGTERM of a registry's"
expect 0 "$regimen" model stage words:1 production --registry registry
answer model:words@production --registry registry --listen 127.0.0.1:0 --reload 0.05
for file in registry/models/words/2/ckpt/step-*/weights.safetensors; do :; done
cp -p "$file" whole
chmod u+w "$file"
printf x | dd of="$file" bs=1 seek=900 conv=notrunc 2>/dev/null
expect 0 "$regimen" model stage words:2 production --registry registry
wait_for grep -q 'words: version 1 stays: ' log
cp whole "$file" # what was registered is there again, and the stage stays: it is tried again all the same
wait_for version_is 2
kill -TERM "$server"
ended "SIGTERM of a registry's that was damaged"

expect 1 "$regimen" answer words=served --listen 0.0.0.0:0
says 'allow-remote' err
expect 1 "$regimen" answer none --listen 127.0.0.1:0
says 'none: ' err
expect 2 "$regimen" answer
expect 2 "$regimen" answer served --delay-ms -1
for option in --delay-ms --timeout-ms --reload --drain; do
    expect 2 "$regimen" answer served $option 1e300
    says 'a day .86400 s. at most' err
done

# A token of one's own is believed only in a file that nobody else can read.
printf 'of-our-own-0123456789\nmore\n' >own
chmod 644 own
expect 1 "$regimen" answer served --listen 127.0.0.1:0 --token-file own
says 'own: a file with a token is yours alone: chmod 600' err
chmod 600 own
ln -s own link
expect 1 "$regimen" answer served --listen 127.0.0.1:0 --token-file link
says 'link is a link' err
expect 1 "$regimen" answer served --listen 127.0.0.1:0 --token-file nowhere
answer words=served --listen 127.0.0.1:0 --token-file own
[ "$token" = of-our-own-0123456789 ] || fail "the token is '$token'"
version_is 1 || fail "its own token lets nobody in"
kill -TERM "$server"
ended "SIGTERM with a token of one's own"
finish
