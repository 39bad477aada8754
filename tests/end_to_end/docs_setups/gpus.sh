# A search on a node that says it has four GPUs.
. "$SETUPS/search.sh"
mv search.yaml exp.yaml
export CUDA_VISIBLE_DEVICES=4,5,6,7
export SLIPWAY_GPU_LOCKS="$PWD/gpu-locks"
