#!/bin/sh
# What src/master/slurm_test.c puts on the PATH as sbatch, squeue, sacct, scancel and scontrol: writes down
# its words and Slurm's variables, and says what $FAKE_SLURM/NAME.out and NAME.err hold (recorded from
# Slurm 22.05), ending with the status in NAME.status.
name=$(basename "$0")
{
    echo "$name"
    for word; do printf '<%s>\n' "$word"; done
    env | grep -E '^(SLURM|SBATCH|SQUEUE|SACCT|TRIAL)_|^CUDA_VISIBLE_DEVICES=' | sort
    echo
} >>"$FAKE_SLURM/calls"
[ ! -f "$FAKE_SLURM/$name.out" ] || cat "$FAKE_SLURM/$name.out"
[ ! -f "$FAKE_SLURM/$name.err" ] || cat "$FAKE_SLURM/$name.err" >&2
[ ! -f "$FAKE_SLURM/$name.status" ] || exit "$(cat "$FAKE_SLURM/$name.status")"
