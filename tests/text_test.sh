#!/bin/sh
# regimen text: ids are spm_encode's on every line there is, the trained pieces are spm_train's, and
# what can be wrong with text, models and arguments is told.
. "$(dirname "$0")/lib.sh"
corpus=${REGIMEN_DATA:-/nowhere}/multi30k-de-en
command -v spm_encode >/dev/null || { echo "SKIPPED: spm_encode is not installed"; exit 77; }
[ -d "$corpus" ] || { echo "SKIPPED: REGIMEN_DATA has no multi30k-de-en"; exit 77; }
cd "$work" || exit 1

for file in "$corpus"/*.gz; do
    gzip -dc "$file" >"$(basename "$file" .gz)"
done
for type in unigram bpe; do
    expect 0 "$regimen" text train-tokenizer --vocab-size 4000 --type $type --out $type.model \
        "$corpus/val.de.gz" "$corpus/train.en.gz" "$corpus/test_2016_flickr.de.gz"
    [ -s out ] && fail "train-tokenizer wrote to standard output"
    [ "$(wc -l <err)" = 1 ] || fail "train-tokenizer says more than one line: $(head -3 err)"
    spm_train --input=val.de,train.en,test_2016_flickr.de --vocab_size=4000 --model_type=$type \
        --model_prefix=owner --pad_id=0 --eos_id=1 --unk_id=2 --bos_id=-1 --max_sentence_length=1048576 \
        >/dev/null 2>&1 || fail "spm_train failed"
    # The files differ only in the names that spm_train notes; pieces and scores are equal.
    spm_export_vocab --model=$type.model --output=ours.vocab
    spm_export_vocab --model=owner.model --output=theirs.vocab
    cmp -s ours.vocab theirs.vocab || fail "the $type pieces are not spm_train's"
    for lines in train.de train.en val.de val.en test_2016_flickr.de test_2016_flickr.en; do
        "$regimen" text encode --model $type.model <$lines >ours || fail "encode $lines"
        spm_encode --model=$type.model --output_format=id <$lines >theirs
        [ -s theirs ] || fail "spm_encode gave nothing for $lines"
        cmp ours theirs || fail "$type ids differ from spm_encode's in $lines"
        "$regimen" text decode --model $type.model <ours >back || fail "decode $lines"
        spm_decode --model=$type.model --input_format=id <ours >theirs
        cmp back theirs || fail "$type text differs from spm_decode's in $lines"
    done
done
head -20 train.en >known.en # no unknown pieces, whose text spm_encode shows instead
expect 0 "$regimen" text encode --model bpe.model --pieces known.en
spm_encode --model=bpe.model --output_format=piece <known.en | cmp - out || fail "pieces differ"

# Odd text: empty lines stay, separators of Unicode do not end a line, other scripts are unknown.
printf 'a\n\n \n\302\240x\342\200\250y\nplus \360\237\230\200 \344\275\240\tz\nend' >odd
expect 0 "$regimen" text encode --model unigram.model odd
spm_encode --model=unigram.model --output_format=id <odd | cmp - out || fail "ids of odd text differ"

# Ids of a file beside the model: the same pieces, padding first, what is not in it unknown.
spm_export_vocab --model=bpe.model --output=bpe.vocab
awk -F'\t' 'NR > 1 && $1 != "\xe2\x96\x81a" {gsub(/[\\"]/, "\\\\&", $1); printf "%s\"%s\": %d", n ? ", " : "{", $1, n; n++}
    END {printf ", \"<pad>\": %d}\n", n}' bpe.vocab >vocab.json
expect 0 "$regimen" text encode --model bpe.model --pieces known.en
sed 's/^\xe2\x96\x81a /<unk> /; s/ \xe2\x96\x81a / <unk> /g; s/ \xe2\x96\x81a$/ <unk>/' out >wanted
expect 0 "$regimen" text encode --model bpe.model --vocabulary vocab.json --pieces known.en
cmp -s out wanted || fail "pieces of a vocabulary: $(diff out wanted | head -4)"
grep -q '<unk>' out || fail "no line has the piece that the vocabulary lacks"
expect 0 "$regimen" text encode --model bpe.model --vocabulary vocab.json val.de
cp out ids
expect 0 "$regimen" text decode --model bpe.model --vocabulary vocab.json ids
"$regimen" text encode --model bpe.model val.de | "$regimen" text decode --model bpe.model >theirs
mark=$(printf '\342\201\207') # what an unknown piece looks like
awk -v mark="$mark" 'NR == FNR {bad[FNR] = index($0, mark); next} !bad[FNR]' out theirs >known
[ "$(wc -l <known)" -gt 800 ] || fail "more lines than expected have a piece that the vocabulary lacks"
grep -v "$mark" out | cmp -s - known || fail "ids of a vocabulary lead to another text"
expect 1 "$regimen" text encode --model "$PWD/bpe.model" --vocabulary bpe.vocab known.en
says "^regimen: bpe.vocab, line 1: no piece and its id" err

# A tokenizer.json has the ids of tokenizers (tests/oracle/tokenizers_oracle.py compares thousands of lines).
json=$(dirname "$0")/../fuzz/corpus/tokenizer
case $0 in /*) ;; *) json=$OLDPWD/$json ;; esac
printf "don't DON'T 'S 'Re 'll'LL x'd '\n<mask>  x\n" >odd
expect 0 "$regimen" text encode --model "$json/gpt2.json" odd
cp out ids
expect 0 "$regimen" text decode --model "$json/gpt2.json" ids
cmp -s out odd || fail "ids of tokenizer.json lead back to: $(cat out)"
expect 1 "$regimen" text encode --model "$json/../yaml" odd

# Documents as one file of tokens; the threads change nothing.
expect 0 "$regimen" text tokens --model "$json/gpt2.json" --out one.tokens --documents paragraphs train.en val.en
says "^text +one.tokens: [0-9,]+ tokens of 2 documents, [0-9.]+ bytes of text a token$" err
expect 0 "$regimen" text tokens --model unigram.model --out one.tokens "$corpus/val.en.gz"
expect 0 "$regimen" text tokens --model unigram.model --out two.tokens --threads 3 val.en
cmp -s one.tokens two.tokens || fail "three threads write another token file"
expect 2 "$regimen" text tokens --model unigram.model --out no --documents words val.en
says "'words' is none of lines, paragraphs, files" err
[ ! -e no ] || fail "a refused command wrote a file"

# Lengths and padding.
expect 0 "$regimen" text stats --model unigram.model "$corpus/train.de.gz" "$corpus/train.en.gz"
says "^pairs +29,000, 0 with an empty side$" out
says "^dropped +[0-9]+ pairs longer than 64$" out
says "^batches +[0-9,]+ of at most 4,096 tokens, [0-9]+ shapes$" out
says "^real +[0-9,]+ of [0-9,]+ padded tokens: 0\.(8[5-9]|9)[0-9]+$" out
paste val.de val.en >val.tsv
expect 0 "$regimen" text stats --model unigram.model --evaluation --max-length 20 --tsv val.tsv
says "^cut +[1-9][0-9]* pairs longer than 20$" out
cp out tsv.out
expect 0 "$regimen" text stats --model unigram.model --evaluation --max-length 20 val.de val.en
cmp -s out tsv.out || fail "a TSV and two files give different figures"

# What is wrong is told, with its place, and nothing is printed beside it.
head -1000 val.en >short.en
expect 1 "$regimen" text stats --model unigram.model val.de short.en
says "val.de has 1014 lines and short.en has 1000: .* short.en is short, its line 1001 is missing" err
printf 'fine\nb\377\n' >bad
expect 1 "$regimen" text encode --model unigram.model bad
says "^regimen: bad:2:2: not UTF-8$" err
expect 1 "$regimen" text train-tokenizer --vocab-size 100 --out x.model bad
says "bad:2:2: not UTF-8" err
[ -e x.model ] && fail "a failed training left a file"
expect 1 "$regimen" text train-tokenizer --vocab-size 90000 --out x.model val.en
says "Vocabulary size" err
[ "$(wc -l <err)" = 1 ] || fail "more than the message is on standard error: $(head -3 err)"
expect 1 "$regimen" text encode --model val.en val.en
says "^regimen: val.en: not a sound SentencePiece model: " err
head -c 3000 unigram.model >cut.model
printf '\377' | dd of=cut.model bs=1 seek=1500 conv=notrunc 2>/dev/null
expect 1 "$regimen" text encode --model cut.model val.en
[ "$(wc -l <err)" = 1 ] || fail "more than the message is on standard error: $(head -3 err)"
echo "5 x" >ids
expect 1 "$regimen" text decode --model unigram.model ids
says "ids:1: byte 3: not an id" err
echo "5 4000" >ids
expect 1 "$regimen" text decode --model unigram.model ids
says "ids:1: id 4000 at place 1; the tokenizer has 4000 pieces" err
expect 1 "$regimen" text encode --model nowhere val.en
expect 2 "$regimen" text encode val.en
expect 2 "$regimen" text train-tokenizer --vocab-size 100 val.en
expect 2 "$regimen" text train-tokenizer --out x.model --type word val.en
says "none of unigram, bpe" err
expect 2 "$regimen" text train-tokeniser
says "did you mean 'text train-tokenizer'" err
expect 0 "$regimen" text --help
finish
