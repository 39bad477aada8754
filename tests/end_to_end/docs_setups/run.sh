# run.sh SPEC OPTIONS...: a run that has ended.
slipway run "$@"
