# A search in which trial 7 fails, ended.
. "$SETUPS/search.sh"
sed -i '1i if [ "$SLIPWAY_TRIAL" = 7 ]; then echo "the loss is not finite"; exit 1; fi' train.sh
slipway run search.yaml
