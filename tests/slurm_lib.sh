# A real Slurm of one node with 4 processors, and two devices that it takes for GPUs, set up in the folder of lib.sh's $work and taken down again at
# the end. Sourced behind lib.sh; control() starts its controller.
PATH=$PATH:/usr/sbin:/sbin
for program in slurmctld slurmd munged sbatch; do
    command -v $program >/dev/null || {
        echo "SKIPPED: no $program here (scripts/deps.sh installs Slurm)"
        exit 77
    }
done
[ "$(id -u)" = 0 ] || {
    echo "SKIPPED: a Slurm of one's own needs root"
    exit 77
}

# A cluster that is not as it should be fails everything, after a while each.
fail() {
    echo "FAILED: $*"
    failures=$((failures + 1))
    [ "$failures" -lt 4 ] || finish
}

# ---- up and down ----

down() {
    [ "$failures" = 0 ] || tail -n 80 "$work/slurmctld.log" # what the cluster says of it
    cd / || exit 1 # what works in the folder is killed below
    for id in $(squeue --noheader --format=%i 2>/dev/null); do
        scancel --batch --signal=KILL "$id" 2>/dev/null
        scancel "$id" 2>/dev/null
    done
    for i in 1 2 3 4 5 6 7 8 9 10; do
        [ -n "$(squeue --noheader 2>/dev/null)" ] || break
        sleep 0.5
    done
    for daemon in slurmctld slurmd munged; do
        [ ! -f "$work/$daemon.pid" ] || kill "$(cat "$work/$daemon.pid")" 2>/dev/null
    done
    for i in 1 2 3 4 5 6 7 8 9 10; do # they remove their files at their ends
        ls "$work"/*.pid >/dev/null 2>&1 || break
        sleep 0.3
    done
    # What ran on a node that is down for Slurm waits for it without end.
    for process in /proc/[0-9]*; do
        case $(readlink "$process/cwd" 2>/dev/null) in
        "$work" | "$work"/*) kill -9 "${process#/proc/}" 2>/dev/null ;;
        esac
    done
    rm -rf "$work"
}
trap down EXIT
trap 'exit 1' INT TERM

host=$(hostname -s)
port=$((20000 + $$ % 10000 * 2))
mkdir "$work/state" "$work/spool" "$work/jobs"
head -c 128 /dev/urandom >"$work/munge.key"
chmod 400 "$work/munge.key"
cat >"$work/slurm.conf" <<CONF
ClusterName=regimen
SlurmctldHost=$host(127.0.0.1)
SlurmctldPort=$port
SlurmdPort=$((port + 1))
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket=$work/munge.sock
CredType=cred/munge
StateSaveLocation=$work/state
SlurmdSpoolDir=$work/spool
SlurmctldPidFile=$work/slurmctld.pid
SlurmdPidFile=$work/slurmd.pid
SlurmctldLogFile=$work/slurmctld.log
SlurmdLogFile=$work/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SchedulerParameters=sched_interval=2,bf_interval=2
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
AccountingStorageType=accounting_storage/none
JobAcctGatherType=jobacct_gather/none
KillWait=15
# A busy machine answers late, and a job that is not seen to begin in time is told as FAILED.
MessageTimeout=10
BatchStartTimeout=120
ReturnToService=2
SlurmdParameters=config_overrides
GresTypes=gpu
NodeName=$host NodeAddr=127.0.0.1 CPUs=4 Gres=gpu:2 State=UNKNOWN
PartitionName=all Nodes=$host Default=YES MaxTime=INFINITE State=UP PriorityTier=10
PartitionName=low Nodes=$host MaxTime=INFINITE State=UP PriorityTier=1 GraceTime=0
CONF
export SLURM_CONF="$work/slurm.conf"
ln -s /dev/null "$work/gpu0"
ln -s /dev/zero "$work/gpu1"
echo "NodeName=$host Name=gpu File=$work/gpu[0-1]" >"$work/gres.conf"

control() { slurmctld -f "$SLURM_CONF" >>"$work/start.log" 2>&1; }
munged --force --key-file="$work/munge.key" --socket="$work/munge.sock" --pid-file="$work/munged.pid" \
    --log-file="$work/munged.log" --seed-file="$work/munged.seed" >>"$work/start.log" 2>&1
control
slurmd -f "$SLURM_CONF" >>"$work/start.log" 2>&1
for i in $(seq 60); do
    sinfo --noheader --format=%T 2>/dev/null | grep -q idle && break
    sleep 0.5
done
sinfo --noheader --format=%T 2>/dev/null | grep -q idle || {
    fail "Slurm did not start"
    tail -n 20 "$work/start.log" "$work/munged.log" "$work/slurmctld.log" "$work/slurmd.log"
    finish
}
