#!/bin/sh
# Learning curves: the files are what they claim to be, show what the logs say, and mistakes are told.
. "$(dirname "$0")/lib.sh"
small_experiment "$work/small.yaml"
cd "$work" || exit 1
for n in 1 2; do
    expect 0 "$regimen" run small.yaml --run-dir "runs/seed-$n" --set runtime.seed=$n
done

# texts FILE.svg: every text of a picture that is well-formed XML, a line each.
texts() {
    python3 - "$1" <<'PY'
import sys, xml.dom.minidom
svg = xml.dom.minidom.parse(sys.argv[1]).documentElement
assert svg.tagName == "svg", svg.tagName
def words(node):
    return node.data if node.nodeType == node.TEXT_NODE else "".join(map(words, node.childNodes))
for text in svg.getElementsByTagName("text"):
    print(words(text))
PY
}
# points FILE.svg: how many corners its longest line or area has.
points() {
    python3 - "$1" <<'PY'
import sys, xml.dom.minidom
svg = xml.dom.minidom.parse(sys.argv[1])
print(max(len(e.getAttribute("points").split()) for e in svg.getElementsByTagName("*")))
PY
}

# One run: beside its log, a panel a metric, a curve a part.
expect 0 "$regimen" plot runs/seed-1
says "^plot +runs/seed-1/curves.svg$" out
texts runs/seed-1/curves.svg >names || fail "curves.svg is not well-formed"
for name in seed-1 train valid loss accuracy cross_entropy step; do
    says "^$name$" names
done
[ "$(grep -c '^step$' names)" = 3 ] || fail "$(grep -c '^step$' names) panels, expected 3"
[ "$(points runs/seed-1/curves.svg)" = 40 ] || fail "40 epochs are not lines of 40 points"
cp runs/seed-1/curves.svg first.svg
expect 0 "$regimen" plot runs/seed-1
cmp -s first.svg runs/seed-1/curves.svg || fail "the same run drawn twice differs"

# Several: a name each, those of one name by their way.
expect 0 "$regimen" plot runs/seed-1 runs/seed-2 -o both.svg
texts both.svg >names || fail "both.svg is not well-formed"
says "^seed-1$" names
says "^seed-2$" names
mkdir -p other
cp -r runs/seed-2 other/seed-1
expect 0 "$regimen" plot runs/seed-1 other/seed-1 runs/seed-2 -o both.svg
texts both.svg >names
says "^runs/seed-1$" names
says "^other/seed-1$" names
says "^seed-2$" names
cp -r runs/seed-1 'runs/a<b&c#1"'
expect 0 "$regimen" plot 'runs/a<b&c#1"' -o odd.svg
texts odd.svg >names || fail "a name with < and & breaks the picture"
says '^a<b&c#1"$' names
cp -r runs/seed-1 "runs/$(printf 'la\377tin\033')"
expect 0 "$regimen" plot "runs/$(printf 'la\377tin\033')" -o latin.svg
texts latin.svg >names || fail "a name that is not UTF-8 breaks the picture"
says '^la\\xfftin\\x1b$' names

# Metrics by name.
expect 0 "$regimen" plot runs/seed-1 runs/seed-2 --metric valid.accuracy --log -o one.svg
texts one.svg >names
says "^valid accuracy$" names
grep -q loss names && fail "--metric valid.accuracy drew the loss too"
expect 0 "$regimen" plot runs/seed-1 --metric loss --metric valid.accuracy -o two.svg
[ "$(texts two.svg | grep -c '^step$')" = 2 ] || fail "two metrics are not two panels"

# A log of one epoch; a log with values that are no numbers.
expect 0 "$regimen" run small.yaml --run-dir runs/short --set trainer.epochs=1
expect 0 "$regimen" plot runs/short -o short.svg
texts short.svg >names
says "^short$" names
[ "$(grep -c '<circle' short.svg)" -gt 0 ] || fail "a single point is not drawn as a dot"
mkdir nan
python3 - >nan/metrics.jsonl <<'PY'
def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF
for step, loss in (1, "2.0"), (2, "1.0"), (3, '"nan"'), (4, "1.0"), (5, "0.0"), (6, "-1.0"), (7, '"inf"'):
    line = '{"split":"train","step":%d,"epoch":%d,"loss":%s,"bad":"nan"' % (step, step, loss)
    print('%s,"crc":"%08x"}' % (line, crc32c(line.encode())))
PY
expect 0 "$regimen" plot nan --metric loss -o nan.svg
texts nan.svg >names || fail "NaN breaks the picture"
grep -qi nan nan.svg && grep -q 'points="[^"]*nan' nan.svg && fail "NaN became a coordinate"
expect 1 "$regimen" plot nan -o bad.svg
says "train bad has no finite value" err

# PNG, with the size that was asked for.
expect 0 "$regimen" plot runs/seed-1 -o big.png --size 1000x400
expect 0 "$regimen" plot runs/seed-1 -o default.png
python3 - big.png default.png <<'PY' || fail "no PNG of the right size"
import struct, sys, zlib
for path, size in zip(sys.argv[1:], ((1000, 400), None)):
    data = open(path, "rb").read()
    assert data[:8] == b"\x89PNG\r\n\x1a\n" and data[-8:-4] == b"IEND", path
    got = struct.unpack(">II", data[16:24])
    assert size is None or got == size, (got, size)
    assert len(data) > 5000, len(data)
PY
expect 0 "$regimen" plot runs/seed-1 -o wide.svg --size 700x300
says 'viewBox="0 0 700 300"' wide.svg

# What can be wrong. Nothing is written then, and nothing half-written stays.
touch before after
ls -A . runs/seed-1 >before
expect 2 "$regimen" plot
says "usage: regimen plot" err
expect 1 "$regimen" plot nowhere
says "no run folder 'nowhere'" err
mkdir foreign empty && : >empty/metrics.jsonl
expect 1 "$regimen" plot foreign
says "'foreign' has no metrics.jsonl" err
expect 1 "$regimen" plot empty
says "empty/metrics.jsonl has no measurement yet" err
expect 2 "$regimen" plot runs/seed-1 --metric valid.acuracy
says "did you mean 'valid.accuracy'.*there are train.loss, .*valid.cross_entropy" err
expect 2 "$regimen" plot runs/seed-1 -o curves.pdf
says "curves.pdf' ends in neither .svg nor .png" err
expect 2 "$regimen" plot runs/seed-1 -o
says "^regimen: -o needs a value" err
expect 2 "$regimen" plot runs/seed-1 --size wide
expect 2 "$regimen" plot runs/seed-1 --size 90x40
says "too small for 3 panels" err
expect 1 "$regimen" plot runs/seed-1 -o nowhere/curves.svg
says "nowhere/curves.svg" err
cp -r runs/short damaged && python3 - <<'PY'
data = bytearray(open("damaged/metrics.jsonl", "rb").read())
data[20] ^= 1
open("damaged/metrics.jsonl", "wb").write(data)
PY
expect 1 "$regimen" plot damaged
says "damaged/metrics.jsonl:1: the line is damaged" err
[ -e damaged/curves.svg ] && fail "a damaged log was drawn"
(ulimit -f 8; "$regimen" plot runs/seed-1 >out 2>err) && fail "a picture beyond the file size limit succeeded"
cmp -s first.svg runs/seed-1/curves.svg || fail "a failed write has touched the picture that was there"
rm -rf foreign empty damaged
ls -A . runs/seed-1 >after
cmp -s before after || fail "something was left behind: $(diff before after)"
finish
