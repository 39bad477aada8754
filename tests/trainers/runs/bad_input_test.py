"""Data and settings that a trainer cannot train on: the run fails, and says which file, record or tensor is to blame."""

import numpy
import pytest

from place import Dataset, slipway_command, twin
from ranks_test import small

HEP = {"size": 16, "filters": 4, "units": 2, "batch_size": 8, "epochs": 1}


@pytest.fixture
def collisions_as_records(tmp_path):
    """TFRecords, for tests that bend them."""
    return Dataset(tmp_path, "hepcnn", size=16, train=80, test=10, shards=1, format="tfrecord")


def varint(number):
    text = b""
    while number > 0x7F:
        text += bytes([number & 0x7F | 0x80])
        number >>= 7
    return text + bytes([number])


def field(number, content):
    """A field of a protobuf message that is bytes."""
    return varint(number << 3 | 2) + varint(len(content)) + content


def feature(value):
    """tf.train.Feature of floats or of whole numbers."""
    if value.dtype == numpy.float32:
        return field(2, field(1, value.tobytes()))
    return field(3, field(1, b"".join(varint(int(number) & (1 << 64) - 1) for number in value)))


def example(**features):
    """tf.train.Example."""
    entries = (field(1, field(1, name.encode()) + field(2, feature(value))) for name, value in features.items())
    return field(1, b"".join(entries))


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def masked(data):
    crc = crc32c(data)
    return (((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF).to_bytes(4, "little")


def write_records(file, records):
    with open(file, "wb") as out:
        for record in records:
            length = len(record).to_bytes(8, "little")
            out.write(length + masked(length) + record + masked(record))


def image(values=3 * 16 * 16):
    return numpy.zeros(values, numpy.float32)


def label(value=1):
    return numpy.array([value])


def bend(dataset, number, part="train", **features):
    """80 good records but for one, which has these features."""
    records = [example(image=image(), label=label(i % 2)) for i in range(80)]
    records[number] = example(**features)
    (file,) = (dataset.folder / part).iterdir()
    write_records(file, records)
    return file.name


@pytest.mark.parametrize(("features", "blames"), [
    ({"image": image(100), "label": label()}, ["record 7", "'image'", "768"]),
    ({"image": label(), "label": label()}, ["record 7", "'image'", "float"]),
    ({"picture": image(), "label": label()}, ["record 7", "'image'"]),
    ({"image": image()}, ["record 7", "'label'"]),
    ({"image": image(), "label": label(2)}, ["record 7", "label 2: must be 0 to 1"]),
    ({"image": image(), "label": label(-1)}, ["record 7", "label -1: must be 0 to 1"]),
    ({"image": image() * numpy.float32("nan"), "label": label()}, ["record 7", "not finite"]),
    ({"image": image() - 2, "label": label()}, ["record 7", "once hepcnn has taken their logarithm"]),
], ids=["shape", "dtype", "no-image", "no-label", "label-too-large", "label-too-small", "nan", "negative"])
def test_a_record_is_blamed_with_its_file(place, collisions_as_records, features, blames):
    file = bend(collisions_as_records, 7, **features)
    run = place.run("hepcnn", collisions_as_records, {**HEP, "epochs": 3})
    assert run.phase == "failed"
    for words in (file, *blames):
        assert words in run.said


BOTH = [lambda trainer: trainer, twin]


@pytest.mark.parametrize("trainer", BOTH, ids=["c++", "python"])
@pytest.mark.parametrize("value", ["nan", "-2"])
def test_a_record_that_is_only_measured_is_blamed_as_well(place, collisions_as_records, trainer, value):
    file = bend(collisions_as_records, 7, "test", image=image() + numpy.float32(value), label=label())
    run = place.run(trainer("hepcnn"), collisions_as_records, HEP)
    assert run.phase == "failed"
    for words in ("test-", file, "record 7", "not finite"):
        assert words in run.said
    assert run.checkpoints(), "what was trained is kept"


@pytest.mark.parametrize("trainer", BOTH, ids=["c++", "python"])
def test_channels_in_another_place_are_refused(place, tmp_path, trainer):
    """As many values, but not the same pictures."""
    numpy.save(tmp_path / "image.npy", numpy.zeros((40, 16, 16, 3), numpy.float32))
    numpy.save(tmp_path / "label.npy", numpy.arange(40) % 2)
    slipway_command("data", "convert", "--from", tmp_path / "image.npy", "--from", tmp_path / "label.npy", "--to", "hdf5",
                    tmp_path / "pictures.h5")
    data = {"data": {"train": {"source": str(tmp_path / "pictures.h5"), "format": "hdf5", "tier": "none"}}}
    run = place.run(trainer("hepcnn"), None, HEP, **data)
    assert run.phase == "failed"
    assert "field 'image' has float32 [16, 16, 3], not float32 [3, 16, 16]" in run.said


@pytest.mark.parametrize("trainer", BOTH, ids=["c++", "python"])
def test_more_poolings_than_pixels_are_refused(place, few_collisions, trainer):
    run = place.run(trainer("hepcnn"), few_collisions, {**HEP, "units": 6})
    assert run.phase == "failed"
    assert "--units 6 halves the picture 5 times, and --size 16 has not so many pixels: give at most --units 5" in run.said


@pytest.mark.parametrize(("trainer", "args", "blames"), [
    ("hepcnn", {"size": 64}, "'image' has float32 [3, 16, 16], not float32 [3, 64, 64]"),
    ("cosmoflow", {"size": 32}, "no field 'volume'; it has: image, label"),
])
def test_files_for_another_model_are_refused_before_the_first_step(place, few_collisions, trainer, args, blames):
    run = place.run(trainer, few_collisions, {**args, "batch_size": 8, "epochs": 1}, 2)
    assert run.phase == "failed"
    assert blames in run.said
    assert not run.values("train_loss")


def test_numbers_of_another_type_are_refused(place, few_collisions, tmp_path):
    """Labels where the picture should be."""
    data = few_collisions.section()
    spec = place.write("fashion", few_collisions, {"batch_size": 8, "epochs": 1})
    assert data["train"]["format"] == "hdf5"
    answer = place.answer("run", spec)
    assert answer["phase"] == "failed" and "'image' has float32 [3, 16, 16], not" in answer["detail"]


@pytest.mark.parametrize(("gradients", "blames"), [
    ({"accumulate": 4}, "20 does not divide among 2 ranks with 4 backward passes each: take a multiple of 8"),
    ({}, "144 records are fewer than one batch of 500 on 2 ranks"),
])
def test_a_global_batch_that_does_not_fit_is_refused(place, few_collisions, gradients, blames):
    args = {**HEP, "global_batch_size": 20 if gradients else 1000}
    del args["batch_size"]
    run = place.run("hepcnn", few_collisions, args, 2, gradients=gradients)
    assert run.phase == "failed" and blames in run.said


def test_a_global_batch_that_the_ranks_cannot_share_is_refused_before_anything_starts(place, few_collisions):
    args = {**HEP, "global_batch_size": 15}
    del args["batch_size"]
    answer = place.answer("run", place.write("hepcnn", few_collisions, args, 2))
    assert "a global_batch_size of 15 cannot be shared equally by 2 ranks" in answer["message"]


@pytest.mark.parametrize("where", ["args", "space"])
def test_an_option_that_the_trainer_does_not_have_is_refused_before_anything_starts(place, few_collisions, where):
    ensemble = {"objective": {"metric": "validation_auc", "goal": "maximize"}, "trials": 2,
                "space": {"learning_rate": {"log": [0.001, 0.1]}}}
    spec = (place.write("hepcnn", few_collisions, {**HEP, "learning_rate": 0.1}) if where == "args" else
            place.write("hepcnn", few_collisions, HEP, ensemble=ensemble))
    answer = place.answer("run", spec)
    assert answer["schema"] == "slipway.error/1" and answer["exit_code"] == 2, answer
    assert "the trainer 'hepcnn' has no option 'learning_rate'; it has size, filters, units, epochs, " in answer["message"]
    assert not place.runs()


def test_a_misspelt_option_is_recognized(place, few_collisions):
    answer = place.answer("validate", place.write("hepcnn", few_collisions, {**HEP, "warmup_epoch": 1}))
    assert "has no option 'warmup_epoch'" in answer["message"] and "did you mean 'warmup_epochs'?" in answer["message"]


def test_more_passes_than_data_are_refused(place, few_collisions):
    run = place.run("hepcnn", few_collisions, HEP, gradients={"accumulate": 100})
    assert run.phase == "failed" and "144 training images are fewer than one step of 800" in run.said


WILD = {**HEP, "optimizer": "sgd", "lr": 1000, "weight_decay": 1000, "epochs": 50, "report_every": 1}


def test_a_loss_that_is_not_finite_ends_the_run_and_leaves_the_last_good_checkpoint(place, few_collisions):
    calm = place.run("hepcnn", few_collisions, {**WILD, "lr": 0.001, "weight_decay": 0, "epochs": 1})
    run = place.resume(calm, "--set", "train.args.lr=1000", "--set", "train.args.weight_decay=1000",
                       "--set", "train.args.epochs=50")
    assert run.phase == "failed"
    assert "the loss is " in run.said and " at step " in run.said and "smaller learning rate than 1000" in run.said
    good = run.checkpoints()
    assert good, "the checkpoint of the first epoch is kept"
    assert not numpy.isnan(run.values("validation_loss")[0])


def test_weights_that_are_not_finite_are_never_a_checkpoint(place, collisions_as_records):
    """Of empty pictures the loss depends on a bias alone: it is still finite when other weights no longer are."""
    bend(collisions_as_records, 0, image=image(), label=label(0))
    one_step_an_epoch = {**WILD, "batch_size": 72, "momentum": 0}
    run = place.run("hepcnn", collisions_as_records, one_step_an_epoch, checkpoint={"keep": 100})
    assert run.phase == "failed"
    steps = len(run.checkpoints())
    assert f"are not finite after step {steps + 1}, so no checkpoint is written" in run.said
    assert steps > 2 and all(numpy.isfinite(value) for value in run.values("validation_loss")[:steps])


@pytest.fixture
def trained(place, make_data):
    data, args = small(make_data, "hepcnn")
    run = place.run("hepcnn", data, {**args, "batch_size": 8, "epochs": 1, "ema": 0.9})
    assert run.phase == "succeeded", run.said
    return run


@pytest.mark.parametrize(("setting", "blames"), [
    ("train.args.filters=4", "was made with filters 8, now it is 4"),
    ("train.args.optimizer=lamb", "was made with optimizer sgd, now it is lamb"),
    ("train.args.batch_size=16", "was made with global_batch_size 8, now it is 16"),
])
def test_a_checkpoint_of_another_training_is_refused(place, trained, setting, blames):
    before = trained.weights()
    words = ["--set", setting, "--set", "train.args.epochs=2"]
    resumed = place.resume(trained, *words)
    assert resumed.phase == "failed" and blames in resumed.said
    assert trained.weights() == before


@pytest.mark.parametrize("file", ["model.pt", "averaged.pt", "optimizer.pt", "exchange.bin", "progress.json"])
def test_a_checkpoint_that_is_damaged_is_never_continued_from(place, trained, file):
    """The newest valid one counts: with this one gone the training begins again, and says so."""
    path = trained.checkpoints()[-1] / file
    content = path.read_bytes()
    path.write_bytes(content[:len(content) // 2])
    resumed = place.resume(trained, "--set", "train.args.epochs=2")
    assert resumed.phase == "succeeded", resumed.said
    assert "continuing at" not in (resumed.attempts[-1] / "rank-00000.log").read_text()
    (warned,) = (event["reason"] for event in resumed.events() if event["event"] == "warning")
    assert warned == (f"the checkpoint '{path.parent}' does not count: '{file}' is not as it was written; going on from the "
                      "beginning")


def test_gradients_on_their_way_do_not_go_on_with_a_shorter_lag(place, make_data):
    data, args = small(make_data, "hepcnn")
    run = place.run("hepcnn", data, {**args, "batch_size": 8, "epochs": 1}, gradients={"mode": "delayed", "lag": 2})
    resumed = place.resume(run, "--set", "gradients.lag=1", "--set", "train.args.epochs=2")
    assert resumed.phase == "failed"
    assert "exchange.bin' cannot be continued with: " in resumed.said
