#!/bin/sh
# Stands for any program at all: this one rolls a ball down the parabola (x - 3)^2 and does not know of Slipway.
# Called as: program.sh --start 10 --lr 0.1 --steps 20
set -eu
while [ $# -gt 1 ]; do
  case "$1" in
    --start) start=$2 ;;
    --lr) lr=$2 ;;
    --steps) steps=$2 ;;
    *) echo "unknown argument $1" >&2; exit 2 ;;
  esac
  shift 2
done

awk -v x="$start" -v lr="$lr" -v steps="$steps" 'BEGIN {
  for (step = 1; step <= steps; step++) {
    x -= lr * 2 * (x - 3)
    printf "step %d loss: %.6f\n", step, (x - 3) ^ 2
  }
}'
