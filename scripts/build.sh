# shellcheck shell=bash
# How ./quickstart and ./check build. Sourced by both.

# minutes_left DONE ALL SECONDS: "about 3 min left", from how long the steps before have taken.
minutes_left() {
  local left=$(($3 * ($2 - $1) / $1))
  if ((left < 60)); then echo "less than a minute left"; else echo "about $(((left + 30) / 60)) min left"; fi
}

# show_progress: reads what ninja prints. A terminal gets one line that changes, a file one line for each tenth.
# All that is not a finished step (a warning, an error) is passed on.
show_progress() {
  local line told=0 started=$SECONDS done all
  while IFS= read -r line; do
    if [[ $line =~ ^\[([0-9]+)/([0-9]+)\]\  ]]; then
      done=${BASH_REMATCH[1]} all=${BASH_REMATCH[2]}
      if [[ -t 1 ]]; then
        printf '\r\e[K   %d of %d steps, %s' "$done" "$all" "$(minutes_left "$done" "$all" $((SECONDS - started)))"
      elif ((done * 10 / all > told)); then
        told=$((done * 10 / all))
        echo "   $done of $all steps, $(minutes_left "$done" "$all" $((SECONDS - started)))"
      fi
    elif [[ $line != "ninja: no work to do." ]]; then
      if [[ -t 1 ]]; then printf '\r\e[K'; fi
      echo "$line"
    fi
  done
  if [[ -t 1 ]]; then printf '\r\e[K'; fi
}

# build_preset PRESET [TARGET...]: configures and builds; all of it when no target is named.
build_preset() {
  local preset=$1
  shift
  mkdir -p build
  if ! cmake --preset "$preset" >"build/$preset.log" 2>&1; then
    cat "build/$preset.log"
    return 1
  fi
  NINJA_STATUS='[%f/%t] ' cmake --build --preset "$preset" --parallel "$(nproc)" --target "${@:-all}" 2>&1 | show_progress
}
