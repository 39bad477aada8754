# records.sh FOLDER: a few training and test records.
slipway data make cosmoflow --size 8 --train 64 --test 8 --shards 4 "$1"
