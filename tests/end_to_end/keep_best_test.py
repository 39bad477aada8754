#!/usr/bin/python3
"""checkpoint.keep_best with a tier: the best checkpoint reaches the run folder, also when newer ones overtake it."""

import json
import os
import subprocess
import sys

import pytest

pytest.importorskip("torch", reason="torch is not installed for this Python (Debian: python3-torch)")

SLIPWAY = os.environ["SLIPWAY_PROGRAM"]
# The launcher says where the package is; that of the sources finds no library.
ENVIRONMENT = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
PROGRAM = """
import slipway
import torch

slipway.init()
model = torch.nn.Linear(2, 1)
for step, loss in enumerate([0.9, 0.1, 0.5, 0.4, 0.3], 1):
    slipway.checkpoint.save(model, step=step, metrics={"val_loss": loss})
slipway.checkpoint.wait()
"""
SPEC = """
name: best
launch: {{ranks_per_node: 2, engine: local}}
train: {{command: [{python}, train.py]}}
checkpoint: {{keep: 1, keep_best: {{metric: val_loss}}, tier: [{tier}]}}
"""


@pytest.mark.parametrize("tier", ["none", "tier"])
def test_the_best_one_stays_beside_the_newest(tmp_path, tier):
    place = "none" if tier == "none" else f"'dir:{tmp_path / 'tier'}'"
    (tmp_path / "tier").mkdir(mode=0o700)
    (tmp_path / "train.py").write_text(PROGRAM)
    (tmp_path / "best.yaml").write_text(SPEC.format(python=sys.executable, tier=place))
    done = subprocess.run([SLIPWAY, "run", "best.yaml", "--runs-dir", "runs", "--json"], cwd=tmp_path, text=True,
                          capture_output=True, timeout=100, env=ENVIRONMENT)
    assert done.returncode == 0, done.stdout + done.stderr
    run, = (tmp_path / "runs").iterdir()
    kept = {each.name: json.loads((each / "manifest.json").read_text()) for each in (run / "checkpoints").iterdir()}
    assert sorted(kept) == ["step-000000000002", "step-000000000005"]
    assert kept["step-000000000005"]["keep_best"] == {"metric": "val_loss", "goal": "minimize"}
    assert kept["step-000000000002"]["metrics"] == {"val_loss": 0.1}
