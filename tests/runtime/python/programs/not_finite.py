"""A gradient of rank 1 becomes NaN; all ranks learn of it, and the program does not catch it."""
import numpy as np
import slipway

slipway.init()
gradients = {"bias": slipway.alloc(2), "layer.weight": slipway.alloc(3)}
team = slipway.Team("model", gradients, check_finite=True)
team.gradients()
if slipway.rank() == 1:
    gradients["layer.weight"][1] = np.nan
team.gradients()
print("went on with NaN")
