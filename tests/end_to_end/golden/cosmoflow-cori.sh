#!/bin/bash
#SBATCH --job-name=cosmoflow-cori
#SBATCH --comment='slipway:cosmoflow-cori-<time>-<id>'
#SBATCH --account=m1234
#SBATCH --qos=regular
#SBATCH --constraint=knl,quad,cache
#SBATCH --nodes=8192
#SBATCH --ntasks=8192
#SBATCH --ntasks-per-node=1
#SBATCH --cpus-per-task=66
#SBATCH --threads-per-core=1
#SBATCH --exclusive
#SBATCH --time=30
#SBATCH --signal=B:USR1@180
#SBATCH --requeue
#SBATCH --no-kill
#SBATCH --chdir='PLACE/runs/cosmoflow-cori-<time>-<id>'
#SBATCH --output='PLACE/runs/cosmoflow-cori-<time>-<id>/manager.log'
#SBATCH --open-mode=append
#SBATCH --propagate=NONE
#DW jobdw type=scratch access_mode=striped capacity=8192GiB pool=wlm_pool
#DW stage_in type=file source=PLACE/data/cosmoflow128/train-00000-of-00001.tfrecord destination=$DW_JOB_STRIPED/staged/train/train-00000-of-00001.tfrecord
#DW stage_in type=file source=PLACE/data/cosmoflow128/test-00000-of-00001.tfrecord destination=$DW_JOB_STRIPED/staged/test/test-00000-of-00001.tfrecord
export SLIPWAY_STAGED_IN="${DW_JOB_STRIPED:?the burst buffer of this job is not there}"/staged
exec PREFIX/bin/slipway manage 'PLACE/runs/cosmoflow-cori-<time>-<id>'
