#!/bin/sh
# oclgrind looks at each access and each call of the kernels' small cases for devices: memory, races between lanes and groups,
# API. Each KERNEL runs, but for those that $elsewhere names. `make check` runs it on what is built. (What NVRTC says of the
# kernels are tests: nvrtc_test of `make test`, nvrtc_all_test and nvrtc_configs_test of `make slow`.)
#   scripts/check_devices.sh              KERNELS="spmm gather" before it: of these kernels alone
set -eu
cd "$(dirname "$0")/.."
build=${RGM_BUILD:-build}
test=$build/src/kernels/gpu_kernels_test
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
bad=0

# looked WHAT ARGUMENT...: the test under oclgrind, whose words go to $work/log.
looked() {
    rm -f "$work/log"
    RGM_CASES=small XDG_CACHE_HOME=$work REGIMEN_DEVICE=opencl:0 \
        oclgrind --data-races --check-api --local-mem-size 262144 --log "$work/log" "$test" "$@" >"$work/said" 2>&1
}

# Tiles of products that take more elements than are looked at in minutes, and what cuBLAS leaves to do: gpu_matmul_test.
elsewhere="product_128x64 product_finish mma_64x64 mma_128x128"

every_kernel_ran() {
    sed -n 's/^RGMI_GPU_KERNEL([a-z_0-9]*, \([a-z_0-9]*\));/\1/p' src/kernels/gpu/*.c | sort -u >"$work/kernels"
    { awk '$1 == "RAN" && $3 > 0 { print $2 }' "$work/said"; printf '%s\n' $elsewhere; } | sort -u >"$work/ran"
    missing=$(comm -23 "$work/kernels" "$work/ran")
    [ -z "$missing" ] || { echo "oclgrind never saw:" $missing >&2; bad=1; }
}

if ! command -v oclgrind >/dev/null; then
    echo "oclgrind left out: it is not installed (scripts/deps.sh check)"
    exit 0
fi
# What cannot see a race says nothing by its silence.
looked race || { cat "$work/said" >&2; bad=1; }
grep -q 'data race' "$work/log" 2>/dev/null || { echo "oclgrind does not see the race of gpu_kernels_test race" >&2; bad=1; }
# shellcheck disable=SC2086
looked ${KERNELS:-} || { grep -v '^RAN' "$work/said" | tail -20 >&2; bad=1; }
if [ -s "$work/log" ]; then
    head -60 "$work/log" >&2
    bad=1
fi
[ -n "${KERNELS:-}" ] || every_kernel_ran
echo "oclgrind looked at $(awk '$1 == "RAN" && $3 > 0 { print $2 }' "$work/said" | sort -u | wc -l) kernels"
exit $bad
