#!/usr/bin/python3
"""What runs have used: hours, and energy. The counters of energy are files made by hand, or a library that stands in,
since few machines let a user read real ones."""

import json
import os
import signal
import subprocess
import time

import pytest

from recorded_runs import PROGRAM, TRAIN, recorded, run, slipway, spec

pytest_plugins = ["recorded_runs"]  # its fixture


def test_usage_sums_all_runs(place):
    folders = [run(place), run(place)]
    found = json.loads(slipway("usage", "--by", "name,engine", "--json").stdout)
    assert found["schema"] == "slipway.usage/1"
    (row,) = found["rows"]
    assert (row["name"], row["engine"], row["runs"]) == ("small", "local", 2)
    parts = [json.loads(slipway("report", folder, "--json").stdout)["runs"][0]["accounting"] for folder in folders]
    assert row["node_hours"] == pytest.approx(sum(part["node_hours"] for part in parts), rel=1e-6)
    assert sum(row["parts_hours"].values()) == pytest.approx(row["node_hours"], rel=1e-3)
    assert json.loads(slipway("usage", "--since", "1s", "--json", cwd=place).stdout)["total"]["runs"] in (0, 1, 2)
    assert json.loads(slipway("usage", "--since", "30d", "--json").stdout)["total"]["runs"] == 2


def test_usage_leaves_out_what_it_cannot_read(place):
    folder = run(place)
    (folder / "state.json").write_text("{")
    done = slipway("usage", "--json")
    assert json.loads(done.stdout)["total"]["runs"] == 0 and "is left out" in done.stderr


def test_usage_warns_of_trials_that_it_cannot_read(place):
    ensemble = {"objective": {"metric": "loss", "goal": "minimize"}, "sampler": "grid",
                "space": {"lr": {"choice": [0.1, 0.2]}}}
    (place / "exp.yaml").write_text(json.dumps(spec(ensemble=ensemble)))
    folder = run(place)
    assert slipway("usage").stderr == ""
    (folder / "trials.db").write_text("no book of trials" * 1000)
    assert folder.name in slipway("usage").stderr


def test_wrong_words_of_usage_are_errors(place):
    assert "user, name, engine" in slipway("usage", "--by", "colour", status=2).stderr
    assert "30d" in slipway("usage", "--since", "ever", status=2).stderr


def test_energy_is_measured_where_counters_can_be_read(place, tmp_path):
    zone = tmp_path / "powercap" / "intel-rapl:0"
    zone.mkdir(parents=True)
    for name, text in {"name": "package-0", "max_energy_range_uj": "1000000000", "energy_uj": "1000000"}.items():
        (zone / name).write_text(text + "\n")
    (place / "train.py").write_text(TRAIN + f"pathlib.Path({str(zone / 'energy_uj')!r}).write_text('8500000\\n')\n")
    folder = run(place, env={"SLIPWAY_POWERCAP": str(tmp_path / "powercap")})
    assert json.loads((folder / "energy.json").read_text())["joules"] == pytest.approx(7.5)
    assert json.loads(slipway("usage", "--json").stdout)["total"]["energy_j"] == pytest.approx(7.5)


# It ends when the record of its GPUs has been begun: what measures them takes its time to start.
RECORDED = """
import time
while not pathlib.Path(os.environ["SLIPWAY_RUN_DIR"], "gpus.json").exists():
    time.sleep(0.02)
"""


def test_energy_of_gpus_is_that_of_the_own_ones(place):
    """The library is a stand-in: tests/support/fake_nvml.cpp."""
    counted = {"LD_LIBRARY_PATH": os.environ["SLIPWAY_FAKE_NVML"], "SLIPWAY_POWERCAP": "/nonexistent",
               "FAKE_NVML": "counts_once"}
    (place / "train.py").write_text(TRAIN + RECORDED)
    folder = run(place, env={**counted, "CUDA_VISIBLE_DEVICES": "GPU-bbbb"})
    record = json.loads((folder / "energy.json").read_text())
    assert [device["device"][:8] for device in record["devices"]] == ["GPU-bbbb"]
    assert record["gpu_joules"] == pytest.approx(4) and record["cpu_joules"] is None
    assert recorded(folder)["hosts"][0]["gpus"], "the type of GPUs is recorded"
    accounting = json.loads(slipway("report", "last", "--json").stdout)["runs"][0]["accounting"]
    assert (accounting["gpu_energy_j"], accounting["cpu_energy_j"]) == (pytest.approx(4), None)
    assert (accounting["gpu_memory_peak_bytes"], accounting["gpu_utilisation"]) == (10_000_000_000, pytest.approx(0.6))
    gpu, = json.loads(slipway("status", "--json").stdout)["gpus"]
    assert gpu["gpu"].startswith("GPU-bbbb") and gpu["memory_bytes"] == 80_000_000_000
    (place / "train.py").write_text(TRAIN)
    assert not (run(place, env={**counted, "CUDA_VISIBLE_DEVICES": ""}) / "energy.json").exists()
    assert "gpus" not in json.loads(slipway("status", "--json").stdout)


@pytest.mark.parametrize("interrupted", [False, True])
def test_a_driver_that_hangs_holds_up_no_run(place, interrupted):
    (place / "train.py").write_text(TRAIN + f"\nimport time\ntime.sleep({600 if interrupted else 1})\n")
    environment = {**os.environ, "LD_LIBRARY_PATH": os.environ["SLIPWAY_FAKE_NVML"], "FAKE_NVML": "hangs",
                   "CUDA_VISIBLE_DEVICES": "0"}
    began = time.monotonic()
    process = subprocess.Popen([PROGRAM, "run", "exp.yaml"], cwd=place, env=environment, start_new_session=True)
    if interrupted:
        time.sleep(2)
        process.send_signal(signal.SIGINT)
    assert (process.wait(timeout=100) == 0) != interrupted
    assert time.monotonic() - began < 50, "the call takes 60 s"
