#!/bin/sh
# comm under a real MPI: what ranks tell each other, the bits of their sums, and what is said of a rank that fails,
# dies, or is silent.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/mpi_lib.sh"
program=$RGM_BUILD/tests/comm_ranks

# ---- the same bits on 1, 2 and 4 ranks ----
expect 0 ranks 1 "$program" values
says '^ready 0 of 1$' "$work/out"
grep '^sum' "$work/out" >"$work/one"
for number in 2 4; do
    expect 0 ranks $number "$program" values
    [ "$(grep -c "^ready .* of $number$" "$work/out")" = $number ] || fail "not $number ranks: $(cat "$work/out")"
    [ "$(grep -c '^sum' "$work/out")" = $number ] || fail "not every one of $number ranks has a sum"
    grep '^sum' "$work/out" | sort -u | cmp - "$work/one" || fail "$number ranks have other bits than one"
done
expect 3 ranks 3 "$program" values
says '^not opened: 3 ranks: sums over them need a power of two, so start 2 or 4$' "$work/out"

# ---- a rank that comes to grief is named by others ----
# named RANK PATTERN SECONDS COUNT: by as many others at least, and not later.
named() {
    [ "$(grep -Ec "^rank [0-3] after .* s: rank $1 on .*$2" "$work/out")" -ge "$4" ] ||
        fail "not $4 others name rank $1 with '$2': $(cat "$work/out")"
    awk -v most="$3" '/^rank .* after/ && $4 > most { late = 1 } END { exit late }' "$work/out" ||
        fail "rank $1 is named after more than $3 s: $(cat "$work/out")"
}
expect 3 ranks 4 "$program" fail 1
named 1 ': shard 9 is empty$' 5 3
says '^rank 1 after .* s: shard 9 is empty$' "$work/out"
# lost WAY RANK PATTERN SECONDS: mpirun kills the others when it has seen the end of one, so its exit code is that of
# whichever came first, and not all others are in time to say what they saw.
lost() {
    ranks 4 "$program" "$1" "$2" >"$work/out" 2>"$work/err" && fail "a lost rank is not seen in the exit code: $*"
    named "$2" "$3" "$4" 1
}
lost die 0 '\(process [0-9]+\) has ended without a word$' 5
lost die 2 '\(process [0-9]+\) has ended without a word$' 5
lost leave 3 '\(process [0-9]+\) has ended without a word$' 5
lost stop 1 '\(process [0-9]+\) has been silent for [0-9]+ s$' 30

# ---- what goes wrong on one rank of a run is told to the others at once ----
# told WHAT RANK PATTERN: by each of both; the rank that fails waits for it before it closes.
told() {
    expect 0 ranks 2 "$RGM_BUILD/tests/run_ranks" "$1" "$2" "$work/run-$1-$2"
    says "^rank $((1 - $2)): $3" "$work/out"
}
told train 1 'RGM_ERR_ARG: (step [0-9]+: )?rank 1 on .*: to train to step -1$'
told evaluate 0 'RGM_ERR_[A-Z_]+: (step [0-9]+: )?rank 0 on .*: .*test'
told save 0 'RGM_ERR_IO: (step [0-9]+: )?rank 0 on .*: .*ckpt'
for rank in 0 1; do # like one process: it stops, and goes on by the same command
    told device $rank 'RGM_STOPPED: $'
    says "^rank $rank: RGM_STOPPED: $" "$work/out"
    name="a rank's device"
    [ $rank = 1 ] || name="the device"
    says "warning $name is lost before anything was saved: .*the device far is lost" "$work/run-device-$rank/log.txt"
done
# all find that, and whoever is quicker tells the others
told set 1 'RGM_ERR_CONFIG: (rank 1 on .*: )?rank 1 has 6 batches of valid_news data and rank 0 has 3: '
told recipe 1 'RGM_ERR_CONFIG: (rank 1 on .*: )?rank 1 has files of other names than rank 0, or makes other batches of them: '

# ---- a rollback while a thread of rank 0 still writes the newest checkpoint: all go back to that ----
for rank in 0 1; do
    expect 0 ranks 2 "$RGM_BUILD/tests/run_ranks" rollback $rank "$work/run-rollback-$rank"
    says 'step 3: .*rolled back \(1 of 1\)$' "$work/run-rollback-$rank/log.txt"
    [ "$(sed -n 's/^rank [01]: step 6, 6 updates, //p' "$work/out" | sort | uniq -c | sed 's/ *\([0-9]*\) .*/\1/')" = 2 ] ||
        fail "two ranks behind a rollback: $(cat "$work/out")"
done

# ---- regimen doctor: one rank speaks ----
expect 0 ranks 2 "$regimen" doctor --seconds 0.2
for line in '^started  by mpirun \(Open MPI\), 2 processes$' '^mpi      .*; threads: [a-z]+$' '^network  .*127\.0\.0\.1' \
    '^rank     1 on .* 2 ranks on that host$' \
    '^sums     right on all 2 ranks; a decision takes [0-9]+ us, 16 MB are summed at [0-9.]+ GB/s$'; do
    says "$line" "$work/out"
    [ "$(grep -Ec "$line" "$work/out")" = 1 ] || fail "not one line '$line'"
done
OMPI_MCA_hwloc_base_binding_policy=none expect 0 ranks 4 "$regimen" doctor --seconds 0.2
[ "$(nproc)" -lt 2 ] || says '^warning  4 ranks on .* have [0-9]+ threads for [0-9]+ processors: set runtime.threads to ' "$work/out"
expect 2 "$regimen" doctor --seconds 6
says 'at most 5' "$work/err"
expect 0 env REGIMEN_MPI="$work/none.so" "$regimen" doctor
says "^mpi      MPI cannot be loaded: $work/none.so" "$work/out"
says '^started  alone; ' "$work/out"

# ---- started without MPI's own launcher, or without MPI ----
expect 3 env REGIMEN_MPI="$work/none.so" mpirun -n 2 "$program" values
says "^not opened: MPI cannot be loaded: $work/none.so: " "$work/out"
expect 3 env SLURM_PROCID=0 SLURM_STEP_NUM_TASKS=2 "$program" values
says '^not opened: srun started 2 processes, and MPI \(.*\) knows of 1: .*srun --mpi=' "$work/out"
mkdir "$work/alone"
cp "$program" "$work/alone"
expect 3 env -u REGIMEN_MPI OMPI_COMM_WORLD_RANK=0 OMPI_COMM_WORLD_SIZE=2 "$work/alone/comm_ranks" values
says '^not opened: this build has no MPI \(there is no libregimen-mpi.so\): install libopenmpi-dev and build again' "$work/out"
finish
