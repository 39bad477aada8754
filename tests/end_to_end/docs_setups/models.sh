# A search whose trials save predictions, ended.
cat >train.py <<'END'
import argparse, os
import numpy as np
parser = argparse.ArgumentParser()
parser.add_argument("--lr", type=float)
lr = parser.parse_args().lr
labels = np.arange(60) % 3
random = np.random.default_rng(int(os.environ["SLIPWAY_TRIAL"]))
noisy = np.eye(3)[labels] + random.random((60, 3)) * (1 + lr)
probabilities = noisy / noisy.sum(axis=1, keepdims=True)
out = os.environ["SLIPWAY_RUN_DIR"]
np.save(f"{out}/predictions.npy", probabilities.astype("float32"))
np.save(f"{out}/targets.npy", labels)
print("loss:", -np.log(probabilities[np.arange(60), labels]).mean())
END
cat >search.yaml <<'END'
name: models
launch: {ranks_per_node: 1}
train:
  command: ["${PYTHON}", train.py]
  metrics: {from: stdout, pattern: 'loss: (?<loss>\S+)'}
ensemble:
  objective: {metric: loss, goal: minimize}
  trials: 6
  parallel: 2
  sampler: random
  space: {lr: {uniform: [0, 1]}}
END
slipway run search.yaml
