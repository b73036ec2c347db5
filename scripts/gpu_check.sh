#!/bin/sh
# What is to be seen on a machine with a GPU, by one command:
#   scripts/gpu_check.sh pack FOLDER     here: after a build with tests, put the programs, the libraries that they need and
#                                        this script into FOLDER, to be carried to such a machine
#   scripts/gpu_check.sh [STEP...]       there, in that folder (or here, in a built tree): run the steps, all by default
# Steps: list (what devices there are), kernels (each row against the CPU, two runs, f32 and f64), matmul (bf16, packed),
# ops (each op's gradient), tasks (a training of each kind of task, stopped and not), runs (the command: plan, predictions,
# the CPU's numbers, the same bytes twice), memory (compute-sanitizer over the quickest cases).
# REGIMEN_DEVICE=cuda:0 is the device; SECONDS_EACH=240 bounds a step; RGM_CASES=all takes every variant.
set -u
here=$(cd "$(dirname "$0")" && pwd)
programs="src/kernels/gpu_kernels_test src/kernels/gpu_matmul_test src/autodiff/gpu_ops_test
          src/experiment/gpu_tasks_test regimen"

pack() {
    tree=$(dirname "$here")
    to=$1
    mkdir -p "$to/bin" "$to/lib" "$to/tests" || exit 1
    for program in $programs; do
        [ -x "$tree/build/$program" ] || { echo "gpu      build/$program is not there: build it first" >&2; exit 1; }
        cp "$tree/build/$program" "$to/bin/"
        # What the target's C library and compilers bring stays out: theirs are not older.
        ldd "$tree/build/$program" | awk '$3 ~ /^\// { print $3 }' |
            grep -Ev '/(libc|libm|libdl|libpthread|librt|libresolv|libstdc\+\+|libgcc_s|ld-linux-x86-64)\.so' | xargs -I{} cp -L {} "$to/lib/"
    done
    cp "$tree/tests/device_test.sh" "$tree/tests/lib.sh" "$to/tests/"
    cp "$0" "$to/gpu_check.sh"
    strip "$to"/bin/* "$to"/lib/* 2>/dev/null
    tar -C "$(dirname "$to")" -czf "$to.tar.gz" "$(basename "$to")"
    echo "gpu      $to.tar.gz: $(du -h "$to.tar.gz" | cut -f1); there: tar xzf it, and $(basename "$to")/gpu_check.sh"
}

if [ "${1:-}" = pack ]; then
    pack "${2:?gpu_check.sh pack FOLDER}"
    exit
fi

own=$(mktemp -d)
trap 'rm -rf "$own"' EXIT
if [ -d "$here/bin" ]; then
    bin=$here/bin tests=$here/tests libraries=$here/lib
else
    tree=$(dirname "$here")
    bin=$own/bin tests=$tree/tests libraries=
    mkdir "$bin"
    for program in $programs; do
        ln -s "$tree/build/$program" "$bin/$(basename "$program")"
    done
fi
# Only our programs see the libraries that were carried: for the other tests the command is a script that says where they are.
LIBRARIES=$libraries${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
[ ! -d /usr/local/nvidia/lib64 ] || LIBRARIES=$LIBRARIES:/usr/local/nvidia/lib64
printf '#!/bin/sh\nLD_LIBRARY_PATH=%s exec %s "$@"\n' "$LIBRARIES" "$bin/regimen" >"$own/regimen"
chmod +x "$own/regimen"
# NVRTC is looked for by the library, and here where it does not look.
if [ -z "${REGIMEN_NVRTC:-}" ] && ! ls /usr/local/cuda*/lib64/libnvrtc.so* >/dev/null 2>&1; then
    nvrtc=$(find /usr/local /opt /usr/lib -name 'libnvrtc.so.*' 2>/dev/null | head -1)
    [ -z "$nvrtc" ] || export REGIMEN_NVRTC="$nvrtc"
fi
REGIMEN_DEVICE=${REGIMEN_DEVICE:-cuda:0}
export REGIMEN_DEVICE
log=${OUT:-$(mktemp -d)}
failed=0 left_out=

# step NAME COMMAND...: what it says goes to a file, its closing lines here.
step() {
    name=$1
    shift
    began=$(date +%s)
    timeout "${SECONDS_EACH:-240}" env LD_LIBRARY_PATH="$LIBRARIES" "$@" >"$log/$name.txt" 2>&1
    status=$?
    echo "gpu      $name: exit $status after $(($(date +%s) - began)) s"
    grep -E '^(MISSING|ERROR|\[  (FAILED|PASSED)|FAILED|SKIPPED|========= ERROR|all passed)|ERROR SUMMARY' "$log/$name.txt" | head -40
    [ "$status" = 0 ] || { failed=$((failed + 1)); tail -5 "$log/$name.txt"; }
}

for wanted in ${*:-list kernels matmul ops tasks runs memory}; do
    case $wanted in
    list) "$own/regimen" doctor || failed=$((failed + 1)) ;;
    kernels) step kernels "$bin/gpu_kernels_test" ;;
    matmul) step matmul "$bin/gpu_matmul_test" ;;
    ops) step ops "$bin/gpu_ops_test" ;;
    tasks) step tasks "$bin/gpu_tasks_test" ;;
    runs)
        step runs env -u LD_LIBRARY_PATH RGM_KINDS="gcn gat records sampled translation" "$tests/device_test.sh" "$own/regimen"
        ;;
    memory)
        if command -v compute-sanitizer >/dev/null; then
            step memory compute-sanitizer --error-exitcode 9 --leak-check no "$bin/gpu_kernels_test" \
                fill gather spmm segment_softmax softmax layer_norm dropout adam
        else
            echo "gpu      memory: there is no compute-sanitizer here"
            left_out=", but memory, which was left out"
        fi
        ;;
    *) echo "gpu      there is no step '$wanted'" >&2; exit 2 ;;
    esac
done
[ "$failed" = 0 ] && echo "gpu      all steps passed on $REGIMEN_DEVICE$left_out" || echo "gpu      $failed steps failed; $log"
exit "$failed"
