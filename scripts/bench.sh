#!/bin/sh
# Time the workloads beside the machine's limits and beside the same programs in PyTorch, DGL, CTranslate2 and TF-GNN.
#   BENCH="gcn sage" scripts/bench.sh     some of gcn gat aggregate sage minibatch sampled_run hgt sample molecules mapped bf16
#                                         translate_small translate_base language decode loading runner loop checkpoint records
#                                         parts ranks workers master page count
#   PEER=venv                             PyPI's torch, DGL, CTranslate2 and TF-GNN, pinned, in build/peer_* (11 GB once)
#   PEER=/path/to/python                  an interpreter that has torch; likewise DGL=, CTRANSLATE2= and TFGNN=
#   DEVICE=cuda                           ours and torch on a GPU, beside each other: gcn gat aggregate sage minibatch
#                                         sampled_run translate_small
#   scripts/bench.sh --count [--rows]     nothing is timed: what a GPU would launch, compute and move in a step; needs none
#                                         (BENCH="count" of make bench does the same, and it comes first when all run)
#   BENCH_BASE=DIR                        beside the programs of another build folder instead
#   BENCH_ROUNDS=5                        rounds, each giving every side its turn (default 7)
set -eu
cd "$(dirname "$0")/.."
build=${RGM_BUILD:-build}
peer=${PEER:-} dgl=${DGL:-} ctranslate2=${CTRANSLATE2:-} tfgnn=${TFGNN:-}
if [ "$peer" = venv ]; then
    peer=$(scripts/peer.sh torch)
    dgl=${dgl:-$(scripts/peer.sh dgl)}
    ctranslate2=${ctranslate2:-$(scripts/peer.sh ctranslate2)}
    tfgnn=${tfgnn:-$(scripts/peer.sh tfgnn)}
fi
# shellcheck disable=SC2086
if [ -n "${DEVICE:-}" ]; then
    exec /usr/bin/python3 bench/bench.py --bench "$build/bench/regimen_bench" --out "$build/bench_device.json" \
        --device "$DEVICE" --rounds "${BENCH_ROUNDS:-7}" ${peer:+--peer "$peer"} ${BENCH:-}
fi
if [ "${1:-}" = --count ]; then
    shift
    exec /usr/bin/python3 bench/bench.py --bench "$build/bench/regimen_bench" --out "$build/bench_count.json" --count \
        "$@" ${BENCH:-}
fi
# Take NAME, which has been done, out of BENCH; the end if nothing else was asked for.
done_with() {
    [ -n "${BENCH:-}" ] || return 0
    BENCH=$(printf ' %s ' "$BENCH" | sed "s/ $1 / /; s/^ *//; s/ *$//")
    [ -n "$BENCH" ] || exit 0
}
case " ${BENCH:-count} " in
*" count "*) # what a GPU would launch and move; a goal that is missed is told, and the times go on
    /usr/bin/python3 bench/bench.py --bench "$build/bench/regimen_bench" --out "$build/bench_count.json" --count || true
    done_with count ;;
esac
case " ${BENCH:-master} " in
*" master "*) # what a master does in a second, in figures of its own
    "$build/bench/master_bench"
    done_with master ;;
esac
case " ${BENCH:-page} " in
*" page "*) # what the page takes with 10,000 runs
    "$build/bench/page_bench"
    /usr/bin/python3 bench/page_load.py "$build/regimen"
    /usr/bin/python3 bench/page_cards.py "$build/regimen"
    done_with page ;;
esac
case " ${BENCH:-loading} " in
*" loading "*) # time until a translation model translates, and its memory
    /usr/bin/python3 bench/loading.py --bench "$build/bench/regimen_bench" --out "$build/bench_loading.json" \
        --rounds "${BENCH_ROUNDS:-7}" ${ctranslate2:+--ctranslate2 "$ctranslate2"}
    done_with loading ;;
esac
case " ${BENCH:-parts} " in
*" parts "*) # a graph on two ranks: how much of the exchange of rows is hidden
    bench/parts.sh "$build"
    done_with parts ;;
esac
case " ${BENCH:-ranks} " in
*" ranks "*) # two ranks of one thread beside one of two
    /usr/bin/python3 bench/ranks.py --bench "$build/bench/regimen_bench" --out "$build/bench_ranks.json" \
        --rounds "${BENCH_ROUNDS:-7}" ${peer:+--peer "$peer"}
    done_with ranks ;;
esac
case " ${BENCH:-workers} " in
*" workers "*) # an input worker beside a trainer that waits for its batches
    /usr/bin/python3 bench/workers.py --command "$build/regimen" --out "$build/bench_workers.json" --rounds "${BENCH_ROUNDS:-7}"
    done_with workers ;;
esac
# shellcheck disable=SC2086
exec /usr/bin/python3 bench/bench.py --bench "$build/bench/regimen_bench" --out "$build/bench.json" \
    --rounds "${BENCH_ROUNDS:-7}" ${peer:+--peer "$peer"} ${dgl:+--dgl "$dgl"} \
    ${ctranslate2:+--ctranslate2 "$ctranslate2"} ${tfgnn:+--tfgnn "$tfgnn"} \
    ${BENCH_BASE:+--base "$BENCH_BASE/bench/regimen_bench"} ${BENCH:-}
