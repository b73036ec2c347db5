#!/bin/sh
# How much of the exchange of rows goes on beside arithmetic in steps over a graph of a million edges in two parts, a rank of
# one thread each, through memory and over slower networks: see parts_bench.c, slow_network.c.
#   bench/parts.sh BUILD [SECONDS]
set -eu
build=$(cd "$1" && pwd)
seconds=${2:-3}
command -v mpirun >/dev/null && [ -f "$build/libregimen-mpi.so" ] || {
    echo "parts: left out: there is no mpirun, or this build has no MPI (Debian: libopenmpi-dev, openmpi-bin)"
    exit 0
}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
export REGIMEN_MPI="$build/libregimen-mpi.so" OMPI_MCA_btl=self,vader,tcp OMPI_MCA_btl_tcp_if_include=lo
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1
export OMPI_MCA_hwloc_base_binding_policy=none OMPI_MCA_btl_base_warn_component_unused=0 HWLOC_COMPONENTS=-opencl

# on NETWORK US GBS: 0 is this machine's memory.
on() {
    for model in gcn graph_sage; do
        slow=
        [ "$2" = 0 ] || slow="-x LD_PRELOAD=$build/bench/slow_network.so -x SLOW_US=$2 -x SLOW_GBS=$3"
        # shellcheck disable=SC2086
        printf '  %-10s %-24s %s\n' $model "$1" "$(mpirun -n 2 $slow "$build/bench/parts_bench" parts $model 64 "$seconds")"
    done
}

# Communities with some of the edges between them: by these the parts differ in how many rows need copies.
for apart in 0.99 0.9; do
    rm -rf folder graph parts
    "$build/regimen" data generate citation --to folder --nodes 100000 --edges 500000 --classes 32 --dense 64 \
        --homophily $apart --train-per-class 500 --valid 2000 --test 2000 >/dev/null 2>&1
    "$build/regimen" data import folder folder --to graph --format graph >/dev/null 2>&1
    method=metis
    "$build/regimen" data partition graph --to parts --parts 2 >told 2>&1 || {
        method=multilevel
        "$build/regimen" data partition graph --to parts --parts 2 --method multilevel >told 2>&1
    }
    echo "100,000 nodes, 1,000,000 edges, $(sed -n 's/^data .* seed 1, //p' told) ($method)"
    on "through memory" 0 0
    on "40 us, 1.1 GB/s" 40 1.1
    on "200 us, 0.5 GB/s" 200 0.5
    on "200 us, 0.1 GB/s" 200 0.1
done
