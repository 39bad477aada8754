"""A program for trials that holds the GPUs it sees, by folders, and fails where another one holds them, too."""


def hold(then, folder="."):
    """A shell script: `then` runs while they are held. What was seen stands in `folder`/seen, a line for each rank."""
    return f"""
    gpus=$(printf %s "$CUDA_VISIBLE_DEVICES" | tr , ' ')
    node=$(hostname)
    for gpu in $gpus; do
      mkdir "{folder}/held.$node.$gpu" || {{ echo "GPU $gpu of $node is held by another"; exit 9; }}
    done
    echo "$(basename $SLIPWAY_RUN_DIR) $SLIPWAY_ATTEMPT $node $CUDA_VISIBLE_DEVICES" >> "{folder}/seen"
    {then}
    status=$?
    for gpu in $gpus; do rmdir "{folder}/held.$node.$gpu"; done
    exit $status
    """
