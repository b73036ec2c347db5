#!/bin/sh
# No circles of files: within a layer no file uses, directly or through others, a file that uses it.
# By the symbols of the object files in a build folder (default: build). Ops of autodiff are left
# out among themselves: gradients name each other by nature.
# usage: check_circles.sh [--why] [BUILD]     --why: also each use inside a circle, by symbol
set -eu
cd "$(dirname "$0")/.."
why=0
[ "${1:-}" = --why ] && { why=1; shift; }
build=${1:-build}
bad=0

for objects in "$build"/src/*/CMakeFiles/rgm_*.dir "$build"/src/cli/CMakeFiles/regimen_cli.dir; do
    layer=$(basename "$(dirname "$(dirname "$objects")")")
    found=
    for object in "$objects"/*.o "$objects"/*/*.o; do # not what a file left that has gone since
        source=$(basename "$object" .o)
        if [ -f "src/$layer/$source" ] || [ -f "$build/src/$layer/$source" ]; then
            found="$found $object"
        fi
    done
    [ -n "$found" ] || continue
    # shellcheck disable=SC2086
    nm -A $found | awk -v layer="$layer" -v why="$why" '
        {
            file = $0
            sub(/\.o:.*/, "", file)
            sub(/.*\//, "", file)
            sub(/\.cc?$/, "", file)
            kind = $(NF - 1)
            if (kind ~ /^[TDRBVW]$/) { home[$NF] = file }
            else if (kind == "U") { n++; user[n] = file; used[n] = $NF }
            if (!(file in seen)) { seen[file] = 1; files[++count] = file }
        }
        function op(name) { return layer == "autodiff" && name ~ /^op_/ }
        END {
            for (i = 1; i <= n; i++) {
                to = home[used[i]]
                if (to != "" && to != user[i] && !(op(user[i]) && op(to))) {
                    reach[user[i], to] = 1
                    by[user[i], to] = by[user[i], to] " " used[i]
                }
            }
            for (k = 1; k <= count; k++)
                for (i = 1; i <= count; i++)
                    if ((files[i], files[k]) in reach)
                        for (j = 1; j <= count; j++)
                            if ((files[k], files[j]) in reach)
                                reach[files[i], files[j]] = 1
            for (i = 1; i <= count; i++) {
                a = files[i]
                if (a in told || !((a, a) in reach))
                    continue
                bad = 1
                line = "circle in " layer ":"
                for (j = 1; j <= count; j++)
                    if ((a, files[j]) in reach && (files[j], a) in reach) {
                        told[files[j]] = a
                        line = line " " files[j]
                    }
                print line
                for (p in by) {
                    split(p, ends, SUBSEP)
                    if (why && ends[1] in told && ends[2] in told &&
                        told[ends[1]] == a && told[ends[2]] == a)
                        print "    " ends[1] " -> " ends[2] ":" by[p]
                }
            }
            exit bad
        }' >&2 || bad=1
done
exit $bad
