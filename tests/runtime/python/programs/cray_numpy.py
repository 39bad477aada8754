"""A script for Cray's plugin: linear regression in NumPy. Prints the weights that it found."""
import numpy as np
import ml_comm as mc

STEPS = 60

mc.init_mpi()
weights = [np.random.default_rng(mc.get_rank()).normal(size=(3, 1)).astype(np.float32), np.zeros(1, np.float32)]
mc.init(2, 1, sum(w.size for w in weights))
mc.config_team(0, 0, int(0.25 * STEPS), STEPS, 2, 20)

mc.broadcast(weights, 0)
assert mc.check_buffers_match(weights, 1) == 0

data = np.random.default_rng(100 + mc.get_rank())
for step in range(STEPS):
    x = data.normal(size=(32, 3)).astype(np.float32)
    y = x @ np.array([[1.0], [-2.0], [0.5]], np.float32) + 3
    error = x @ weights[0] + weights[1] - y
    gradients = mc.gradients([2 * x.T @ error / len(x), 2 * error.mean(0)], 0)
    for weight, gradient in zip(weights, gradients):
        weight -= 0.1 * gradient

loss = np.array([float((error**2).mean())], np.float32)
mc.average(loss)
assert mc.check_buffers_match(weights, 1) == 0
mc.barrier()
if mc.get_rank() == 0:
    found = np.round(np.concatenate([w.ravel() for w in weights]), 2)
    print("ranks", mc.get_nranks(), "loss", loss[0], "weights", *found)
mc.finalize()
