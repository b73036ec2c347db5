#!/bin/sh
# The graph of layers holds of this build; and a copy with an edge that it forbids is refused: a header, a
# symbol, another layer's private header and symbol, an edge that nothing uses, a function that another declares.
# Circles of files are found in the command as in a layer.
. "$(dirname "$0")/lib.sh"
root=$(pwd)
check="/usr/bin/env python3 $root/scripts/check_layers.py"
expect 0 $check "$RGM_BUILD"
mkdir "$work/tree" "$work/tree/build"
cp -r src include cmake "$work/tree"
cp -rs "$RGM_BUILD/src" "$work/tree/build"
cp "$RGM_BUILD/compile_commands.json" "$work/tree/build"
cd "$work/tree" || exit 1
expect 0 $check build

# add WHERE LINE, then refused PATTERN: the check names what is wrong, and where.
add() {
    cp "$1" "$work/kept"
    echo "$2" >>"$1"
    added=$1
}
refused() {
    expect 1 $check build
    says "$1" "$work/err"
    cp "$work/kept" "$added"
}
add src/graph/schema.c '#include <regimen/text.h>'
refused '^layers: graph may not use text: an #include in src/graph/schema\.c$'
add include/regimen/tensor.h '#include <regimen/autodiff.h>'
refused '^layers: tensor may not use autodiff: an #include in include/regimen/tensor\.h$'
add include/regimen/text.h 'void rgm_graph_release(rgm_graph *graph);'
refused '^layers: include/regimen/text\.h declares rgm_graph_release, which src/graph/graph\.c defines$'
add src/nn/layers.c '#include "autodiff_internal.h"'
refused '^layers: nn may not use autodiff \(private header\): an #include in src/nn/layers\.c$'
add cmake/layers.cmake '' && sed -i 's/(RGM_ALLOWED_text /(RGM_ALLOWED_text kernels /' cmake/layers.cmake
refused '^layers: cmake/layers\.cmake allows text to use kernels, but nothing does$'
add cmake/layers.cmake '' && sed -i 's/(RGM_ALLOWED_tensor /(RGM_ALLOWED_tensor text /' cmake/layers.cmake
refused 'tensor names text, which is not a layer before it'

# An object file more, as if graph had a source that calls these.
cat >calls.c <<'C'
void rgm_tokenizer_release(void *);
void rgmi_pool_anything(void);
void rgm_calls(void);
void rgm_calls(void)
{
    rgm_tokenizer_release(0);
    CALL();
}
C
private=$(nm -P build/src/autodiff/CMakeFiles/rgm_autodiff.dir/cgraph.c.o | sed -n 's/^\(rgmi_[a-z_]*\) T.*/\1/p' | head -1)
cc -Wno-implicit-function-declaration -DCALL="$private" -c calls.c -o build/src/graph/CMakeFiles/rgm_graph.dir/calls.c.o
/usr/bin/env python3 - <<'PY'
import json
path = "build/compile_commands.json"
entries = json.load(open(path))
entries.append({"directory": ".", "command": "cc -o src/graph/CMakeFiles/rgm_graph.dir/calls.c.o -c src/graph/calls.c",
                "file": "src/graph/calls.c"})
json.dump(entries, open(path, "w"))
PY
expect 1 $check build
says '^layers: graph may not use text: rgm_tokenizer_release in src/graph/calls\.c \(defined in src/text/tokenizer\.c\)$' "$work/err"
says "^layers: graph uses $private, which is autodiff's own: src/graph/calls\.c\$" "$work/err"

# Two files of the command that call each other.
cp -r "$root/scripts" .
echo 'int there(void); int here(void) { return there(); }' >src/cli/here.c
echo 'int here(void); int there(void) { return here(); }' >src/cli/there.c
mkdir -p circle/src/cli/CMakeFiles/regimen_cli.dir
for name in here there; do
    cc -c src/cli/$name.c -o circle/src/cli/CMakeFiles/regimen_cli.dir/$name.c.o
done
expect 1 scripts/check_circles.sh circle
says '^circle in cli: here there$' "$work/err"
finish
