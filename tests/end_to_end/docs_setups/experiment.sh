# experiment.sh [ENGINE]: an experiment that takes a moment, experiment.yaml.
slipway init first --template command
cd first
export SLIPWAY_ENGINE=${1:-local}
