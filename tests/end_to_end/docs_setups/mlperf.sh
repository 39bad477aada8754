# A search whose trials write MLPerf logs, ended.
. "$SETUPS/search.sh"
slipway run search.yaml --set mllog.write=true --set ensemble.trials=8
