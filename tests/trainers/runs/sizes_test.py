"""The networks have as many parameters as those of the papers: the real programs, at the papers' input sizes."""

import pytest


@pytest.mark.parametrize(("trainer", "kind", "size", "further", "parameters"), [
    ("hepcnn", "hepcnn", 224, {}, 594_178),
    ("cosmoflow", "cosmoflow", 128, {}, 7_041_443),
    ("cosmoflow", "cosmoflow", 32, {}, 7_041_443),
    ("resnet50", "imagenet-like", 224, {"classes": 1000}, 25_557_032),
])
def test_parameters(place, make_data, trainer, kind, size, further, parameters):
    data = make_data(kind, size=size, train=2, test=0, shards=1)
    run = place.run(trainer, data, {"epochs": 0, "batch_size": 1, "size": size, **further},
                    train={"validation": {"from": "train", "fraction": 0.5}})
    assert run.phase == "succeeded", run.said
    assert run.last("parameters") == parameters
    assert run.log().startswith(f"{parameters:,} parameters\n")
