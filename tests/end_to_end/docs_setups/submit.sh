# submit.sh SPEC OPTIONS...: a run that goes on in the background, with its first rank started.
slipway submit "$@"
