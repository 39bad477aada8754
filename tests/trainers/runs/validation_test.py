"""What is set aside of the training records: a tenth where the spec says nothing, nothing where it says 0."""

import pytest

from place import twin
from ranks_test import SMALL, small


@pytest.mark.parametrize("trainer", [*SMALL, *map(twin, SMALL)])
def test_a_fraction_of_0_trains_on_all_records_and_validates_nothing(place, make_data, trainer):
    data, args = small(make_data, trainer.rpartition(".")[2])
    run = place.run(trainer, data, {**args, "epochs": 2, "batch_size": 8}, 2,
                    train={"validation": {"from": "train", "fraction": 0}})
    assert run.phase == "succeeded", run.said
    assert "160 training and 0 validation" in run.log()
    assert len(run.values("test_loss")) == 1
    assert not run.values("validation_loss") and not (run.folder / "predictions.npy").exists()
    assert len(run.checkpoints()) == 2


@pytest.mark.parametrize("trainer", ["hepcnn", twin("hepcnn")])
def test_left_out_a_tenth_is_set_aside(place, make_data, trainer):
    data, args = small(make_data, "hepcnn")
    run = place.run(trainer, data, {**args, "epochs": 1, "batch_size": 8})
    assert run.phase == "succeeded", run.said
    assert "144 training and 16 validation" in run.log()
    assert len(run.values("validation_loss")) == 1
