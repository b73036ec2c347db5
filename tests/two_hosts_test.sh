#!/bin/sh
# Two ranks on two hosts, which are network namespaces of this machine with a cable between them: the cable is cut, and
# a host is lost with all that runs there. The lost rank is named within 30 s, the run ends with 75, and the same command
# goes on to the bytes of one process.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/mpi_lib.sh"
regimen=$(realpath "$regimen")
skip() {
    echo "SKIPPED: $*"
    exit 77
}
[ -z "${RGM_SANITIZE:-}" ] || skip "$RGM_PRELOAD does not go with sanitizers"
[ "$(id -u)" = 0 ] || skip "network namespaces need root"
command -v ip >/dev/null || skip "there is no ip (Debian: iproute2)"
a=rgm$$a
b=rgm$$b
down() {
    for host in $a $b; do
        for process in $(ip netns pids $host 2>/dev/null); do kill -KILL "$process" 2>/dev/null; done
        ip netns del $host 2>/dev/null
    done
    rm -rf "$work"
}
trap down EXIT
trap 'exit 1' INT TERM
why=$( (ip netns add $a && ip netns add $b && ip -n $a link add cable type veth peer name cable netns $b) 2>&1) ||
    skip "this kernel or container makes no network namespaces: $why"
unshare --uts true 2>/dev/null || skip "no host names of one's own (unshare --uts)"
net=10.$((200 + $$ % 50)).$(($$ / 50 % 250))
ip -n $a addr add $net.1/24 dev cable
ip -n $b addr add $net.2/24 dev cable
ip netns exec $a sysctl -qw net.ipv4.tcp_retries2=6 # or mpirun waits a quarter of an hour for its daemon
for host in $a $b; do
    ip -n $host link set lo up
    ip -n $host link set cable up
done

fast_work
cd "$work" || exit 1
export PATH="$PATH:/usr/sbin:/sbin"
export OMPI_MCA_orte_tmpdir_base="$work" OMPI_MCA_btl=self,tcp
export OMPI_MCA_btl_tcp_if_include=$net.0/24 OMPI_MCA_oob_tcp_if_include=$net.0/24
export OMPI_MCA_plm=rsh OMPI_MCA_plm_rsh_agent="$work/agent" OMPI_MCA_plm_rsh_no_tree_spawn=1

# What mpirun takes for ssh: agent HOST COMMAND...
cat >agent <<SH2
#!/bin/sh
shift
exec ip netns exec $b unshare --uts sh -c 'hostname host-b; cd "\$0" && exec sh -c "\$1"' "$work" "\$*"
SH2
# Where STOPS is set, rank 0 stands still behind its save of step 10, until it is told to go on.
cat >start <<'SH2'
#!/bin/sh
echo $$ >"pid.$PMIX_RANK"
[ -z "${STOPS:-}" ] || [ "$PMIX_RANK" != 0 ] || export LD_PRELOAD="$RGM_PRELOAD" RGM_SIGNAL=19 RGM_SIGNAL_AT=step-00000010
exec "$@"
SH2
chmod +x agent start
mkdir data
position_experiment records "$work/data/run.yaml"
sed -i 's/^runtime: .*/runtime: {seed: 3, threads: 1, shards: 2}/' data/run.yaml

# on_both: the run of this folder, one rank on each host.
on_both() {
    timeout -k 5 180 ip netns exec $a unshare --uts sh -c 'hostname host-a; exec "$@"' sh \
        mpirun -x PATH -x REGIMEN_MPI -x RGM_PRELOAD -x STOPS --host "$net.1:1,$net.2:1" -n 2 --wdir "$PWD" "$work/start" "$@"
}
a_run() { on_both "$regimen" run ../data/run.yaml --run-dir run >>out 2>&1; }
stands() { grep -q '^State:.T' "/proc/$(cat pid.0)/status"; }
in_folder() {
    mkdir -p "$work/$1"
    cd "$work/$1" || exit 1
}

in_folder one
"$regimen" run ../data/run.yaml --run-dir run >out 2>&1 || fail "one process: $(tail -3 out)"
in_folder whole
a_run || fail "on two hosts: $(tail -5 out)"
cd "$work" && same_run one/run whole/run "two hosts"

[ $failures = 0 ] || finish
for what in cable host; do
    in_folder $what
    STOPS=1 a_run &
    job=$!
    wait_for stands
    ip -n $b link set cable down
    [ $what = cable ] || for process in $(ip netns pids $b); do kill -KILL "$process"; done
    began=$(date +%s)
    kill -CONT "$(cat pid.0)"
    wait $job
    code=$?
    took=$(($(date +%s) - began))
    [ $code = 75 ] || fail "$what: the job ends with $code: $(tail -5 out)"
    named=$(date -d "$(sed -n 's/ warning a rank is lost.*//p' run/log.txt)" +%s)
    [ $((named - began)) -le 30 ] || fail "$what: named after $((named - began)) s"
    says 'a rank is lost, and with it the steps after 10: .*rank 1 on host-b \(process [0-9]+\) (has been silent for 2[0-9] s|cannot be reached any more: )' run/log.txt
    grep -q "^regimen: .*rank 1 on host-b" out || fail "$what: not told: $(tail -5 out)"
    echo "$what: the job ended after $took s"
    for process in $(ip netns pids $b); do kill -KILL "$process" 2>/dev/null; done
    ip -n $b link set cable up
    a_run || fail "$what: gone on with: $(tail -5 out)"
    cd "$work" && same_run one/run $what/run "$what, and gone on with"
done
finish
