#!/bin/sh
# A layer uses only those above it in DESIGN's list: check the includes of src/<layer>/ against the
# order in CMakeLists.txt. Also: banned functions, trailing white space, each public header alone.
set -eu
cd "$(dirname "$0")/.."
bad=0

order="base tensor kernels autodiff nn optim data export store train graph gnn text translation record experiment"
level() {
    n=0
    for layer in $order; do
        [ "$layer" = "$1" ] && { echo $n; return; }
        n=$((n + 1))
    done
    echo -1
}

for layer in $order; do
    [ -d "src/$layer" ] || continue
    mine=$(level "$layer")
    for used in $(sed -n 's/^#include <regimen\/\([a-z]*\)\.h>.*/\1/p' "src/$layer"/*.[ch] \
                      "include/regimen/$layer.h" 2>/dev/null | sort -u); do
        [ "$used" = regimen ] && continue
        if [ "$(level "$used")" -gt "$mine" ]; then
            echo "layers: $layer includes <regimen/$used.h>, a layer below it" >&2
            bad=1
        fi
    done
    if grep -n '#include "\.\./' "src/$layer"/*.[ch] >&2; then
        echo "layers: $layer includes another layer's private header" >&2
        bad=1
    fi
done

# shellcheck disable=SC2046
if grep -nE '\b(strcpy|strcat|sprintf|strtok|atoi|alloca|system|popen|gets)\(' \
        $(find src include examples fuzz -name '*.[ch]') >&2; then
    echo "banned function above" >&2
    bad=1
fi
# The library never exits, aborts or prints.
# shellcheck disable=SC2046
if grep -nE '\b(exit|abort|printf|puts|fprintf\(stderr|fprintf\(stdout)\(' \
        $(find src -name '*.c' ! -name '*_test.c' ! -path 'src/cli/*') | grep -vE 'snprintf|_printf|_Exit' >&2; then
    echo "the library must not exit, abort or print" >&2
    bad=1
fi
# shellcheck disable=SC2046
if grep -nE '[[:space:]]+$' $(git ls-files '*.c' '*.h' '*.sh' '*.cmake' '*.txt' 2>/dev/null) /dev/null >&2; then
    echo "trailing white space above" >&2
    bad=1
fi
for header in include/regimen/*.h; do
    for language in c c++; do
        std=$([ $language = c ] && echo c17 || echo c++17)
        cc -x $language -std=$std -Wall -Wextra -Werror -fsyntax-only -Iinclude "$header" || {
            echo "header $header does not stand alone in $language" >&2
            bad=1
        }
    done
done
exit $bad
