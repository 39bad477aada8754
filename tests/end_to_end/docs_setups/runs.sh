# runs.sh NAME...: runs with these names, ended, of the experiment experiment.yaml.
. "$SETUPS/experiment.sh" local
for name in "$@"; do slipway run experiment.yaml --set name="$name"; done
