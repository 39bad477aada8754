# An experiment with a dataset, experiment.yaml, and the dataset staged; results in a tier.
. "$SETUPS/records.sh" "$PAGE/project"
slipway data convert --from "$PAGE/project/train-00000-of-00004.tfrecord" --to hdf5 "$PAGE/project/train-0.h5"
mkdir -p "$PAGE/scratch/me/results"
echo 1 >"$PAGE/scratch/me/results/loss"
cat >experiment.yaml <<END
name: staged
data:
  train: {source: "$PAGE/project/train-*.tfrecord", tier: [node, none]}
launch: {ranks_per_node: 1}
train: {command: [sh, -c, 'ls \$SLIPWAY_DATA_TRAIN']}
END
slipway stage in experiment.yaml
