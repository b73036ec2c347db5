#!/bin/sh
# Draw the learning curves of a run folder (metrics.jsonl) as SVG on stdout.
# usage: scripts/curve.sh RUN_DIR > curve.svg
set -eu
awk '
function field(name,   at, rest) {
    at = index($0, "\"" name "\":")
    if (!at) return "nan"
    rest = substr($0, at + length(name) + 3)
    sub(/[,}].*/, "", rest)
    return rest + 0
}
{
    part = index($0, "\"split\":\"train\"") ? "train" : "valid"
    n[part]++
    epoch[part, n[part]] = field("epoch")
    loss[part, n[part]] = field("loss")
    accuracy[part, n[part]] = field("accuracy")
    if (field("epoch") > last) last = field("epoch")
    if (field("loss") > most) most = field("loss")
}
function line(part, what, color, dash,   i, x, y) {
    printf "<polyline fill=\"none\" stroke=\"%s\" stroke-width=\"1.5\" %s points=\"", color, dash
    for (i = 1; i <= n[part]; i++) {
        x = (what == "loss" ? 50 : 410) + 290 * epoch[part, i] / last
        y = what == "loss" ? 210 - 180 * loss[part, i] / most : 210 - 180 * accuracy[part, i]
        printf "%.1f,%.1f ", x, y
    }
    print "\"/>"
}
function frame(x, title, top,   i) {
    printf "<text x=\"%d\" y=\"20\">%s</text>", x, title
    for (i = 0; i <= 4; i++) {
        printf "<line x1=\"%d\" x2=\"%d\" y1=\"%d\" y2=\"%d\" stroke=\"#ddd\"/>", x, x + 290, 210 - 45 * i, 210 - 45 * i
        printf "<text x=\"%d\" y=\"%d\" text-anchor=\"end\">%.2g</text>", x - 4, 214 - 45 * i, top * i / 4
    }
    printf "<text x=\"%d\" y=\"228\">0</text><text x=\"%d\" y=\"228\" text-anchor=\"end\">epoch %d</text>\n", x, x + 290, last
}
END {
    print "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"720\" height=\"240\" font-family=\"sans-serif\" font-size=\"11\">"
    print "<rect width=\"720\" height=\"240\" fill=\"white\"/>"
    frame(50, "loss: training (blue), validation (orange)", most)
    frame(410, "accuracy: training (blue), validation (orange)", 1)
    line("train", "loss", "#1f77b4", ""); line("valid", "loss", "#ff7f0e", "")
    line("train", "accuracy", "#1f77b4", ""); line("valid", "accuracy", "#ff7f0e", "")
    print "</svg>"
}' "$1/metrics.jsonl"
