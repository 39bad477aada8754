# A search that has ended, copied into archive/.
. "$SETUPS/search.sh"
slipway run search.yaml --set name=fashion
mkdir archive
cp -a runs/fashion-* archive
