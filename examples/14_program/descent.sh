#!/bin/sh
# A trial as a shell script: a parabola by gradient descent. `regimen experiment run descent.yaml` starts it with
# the learning rate as its argument; docs/programs.md says what else a program is told.
set -eu
rate=$1 step=$REGIMEN_STEP w=0
[ -z "${REGIMEN_CHECKPOINT:-}" ] || w=$(cat "$REGIMEN_CHECKPOINT/w")

while order=$(regimen trial next) && [ "$order" != stop ]; do
    case $order in
        train*)
            w=$(awk "BEGIN { printf \"%.9g\", $w - $rate * 2 * ($w - 3) }")
            step=$((step + 1))
            regimen trial report --step $step w=$w
            ;;
        validate*)
            loss=$(awk "BEGIN { printf \"%.9g\", ($w - 3) * ($w - 3) }")
            regimen trial report --validation --step $step loss=$loss
            ;;
        save*)
            echo $w >"${order#save }/w"
            regimen trial checkpoint --step $step
            ;;
    esac
done
