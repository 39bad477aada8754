# A search that has ended.
. "$SETUPS/search.sh"
slipway run search.yaml
