# Ranks on this machine, after lib.sh: by Open MPI's mpirun, through memory and the loopback interface alone.
command -v mpirun >/dev/null || {
    echo "SKIPPED: there is no mpirun (Debian: openmpi-bin)"
    exit 77
}
[ -f "$RGM_BUILD/libregimen-mpi.so" ] || {
    echo "SKIPPED: this build has no MPI (Debian: libopenmpi-dev)"
    exit 77
}
export REGIMEN_MPI="$RGM_BUILD/libregimen-mpi.so"
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_hwloc_base_binding_policy=none
export OMPI_MCA_btl=self,vader,tcp OMPI_MCA_btl_tcp_if_include=lo OMPI_MCA_oob_tcp_if_include=lo
export OMPI_MCA_btl_base_warn_component_unused=0
export HWLOC_COMPONENTS=-opencl # it may bring LLVM into mpirun, which takes the signals that are to be passed on
export OMPI_MCA_orte_tmpdir_base="$work" # Open MPI's own files

# ranks N COMMAND...: killed after two minutes, should it ever stand still.
ranks() {
    number=$1
    shift
    timeout -k 5 120 mpirun -n "$number" "$@"
}

# search_of_ranks FILE RECORDS: two trials over data.csv, in steps of so many records, whose two shards may be ranks.
search_of_ranks() {
    cat >"$1" <<YAML
data: {path: ., train: data.csv, valid_fraction: 0.2, batch_size: 16}
task: {type: classification, num_classes: 3}
model: {type: mlp, hidden: [8], dropout: 0.2}
optimizer: {type: adam}
hyperparameters: {optimizer.learning_rate: {type: log, base: 10, minval: -4, maxval: -1}}
searcher: {name: random, metric: valid.accuracy, smaller_is_better: false, max_trials: 2, max_length: 6}
batches_per_step: $2
min_validation_period: 1
min_checkpoint_period: 1
checkpoint_policy: all
reproducibility: {experiment_seed: 7}
runtime: {shards: 2}
YAML
}

# ranks_that_stand: writes ./start, which each rank is started by. It writes down its process, and how that ended; rank 0
# stands still behind its save of step WHEN.
ranks_that_stand() {
    cat >start <<'SH2'
#!/bin/sh
trap '' TERM
rank=$OMPI_COMM_WORLD_RANK
[ "$rank" != 0 ] || [ -z "${WHEN:-}" ] ||
    export LD_PRELOAD="$RGM_PRELOAD" RGM_SIGNAL=19 RGM_SIGNAL_AT="step-000000$WHEN"
"$@" &
echo $! >pid.$rank
wait $!
code=$?
echo $code >code.$rank
exit $code
SH2
    chmod +x start
    # mpirun gives those that are left a second to end, which is little on a machine that is busy
    export OMPI_MCA_odls_base_sigkill_timeout=5
}
stands() { [ -s pid.0 ] && grep -q '^State:.T' "/proc/$(cat pid.0)/status"; }
ended() { [ -s code.0 ]; }

# lose_rank_1 JOB: kills rank 1 while rank 0 stands; rank 0 ends with 75 and names it, and so does mpirun, JOB, not end with 0.
lose_rank_1() {
    wait_for stands
    kill -KILL "$(cat pid.1)"
    kill -CONT "$(cat pid.0)"
    wait_for ended
    [ "$(cat code.0)" = 75 ] || fail "rank 0 ends with $(cat code.0) when rank 1 is killed: $(grep '^regimen' err)"
    wait "$1" && fail "mpirun does not tell that a rank was killed"
    says '^regimen: .*a rank is lost.*rank 1 on .* has ended without a word' err # mpirun passes it on when it can
}
