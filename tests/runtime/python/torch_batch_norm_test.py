"""SyncBatchNorm on parts of a batch against BatchNorm of one process on the whole batch."""

import pytest
import torch

import slipway.torch as distributed

CHANNELS = 5
# For statistics of about 1000 values of size 1 in float32.
NEAR = {"rtol": 1e-5, "atol": 1e-6}


def rows_of(size, rank):
    """Batches differ between ranks: 3, 5, 7 ..."""
    return 3 + 2 * rank


def whole_batch(size, shape=(4, 6), dtype=torch.float32, offset=3.0):
    generator = torch.Generator().manual_seed(7)
    rows = sum(rows_of(size, rank) for rank in range(size))
    return (torch.randn(rows, CHANNELS, *shape, generator=generator) * 2 + offset).to(dtype)


def part_of(job, batch):
    first = sum(rows_of(job.size(), rank) for rank in range(job.rank()))
    return batch[first:first + rows_of(job.size(), job.rank())]


def model_of(norm, kernel=3):
    torch.manual_seed(3)
    model = torch.nn.Sequential(torch.nn.Conv2d(CHANNELS, CHANNELS, kernel, padding=1), norm, torch.nn.Tanh(),
                                torch.nn.Conv2d(CHANNELS, 2, 1))
    if norm.affine:
        with torch.no_grad():
            norm.weight.copy_(torch.linspace(0.5, 2, CHANNELS))
            norm.bias.copy_(torch.linspace(-1, 1, CHANNELS))
    return model


def loss_of(outputs):
    """A sum, so that parts of a batch add up."""
    return (outputs.square() * torch.linspace(0.1, 1, outputs.numel() // len(outputs)).view(1, *outputs.shape[1:])).sum()


def gradients(job, model):
    """Added over ranks."""
    return {name: job.allreduce(each.grad.clone()) for name, each in model.named_parameters()}


@pytest.mark.parametrize("options", [{}, {"momentum": None}, {"affine": False}, {"track_running_stats": False}, {"eps": 0.1}])
def test_parts_of_a_batch_are_normalized_like_the_whole(job, options):
    batch = whole_batch(job.size())
    alone = model_of(torch.nn.BatchNorm2d(CHANNELS, **options))
    shared = model_of(distributed.SyncBatchNorm(CHANNELS, **options))
    for step in range(3):
        inputs = (batch * (step + 1)).requires_grad_()
        mine = part_of(job, inputs.detach()).clone().requires_grad_()
        whole_output, output = alone(inputs), shared(mine)
        torch.testing.assert_close(output, part_of(job, whole_output), rtol=1e-4, atol=1e-5)
        for model, outputs in ((alone, whole_output), (shared, output)):
            model.zero_grad()
            loss_of(outputs).backward()
        torch.testing.assert_close(mine.grad, part_of(job, inputs.grad), rtol=1e-4, atol=1e-4)
        for name, gradient in gradients(job, shared).items():
            torch.testing.assert_close(gradient, dict(alone.named_parameters())[name].grad, rtol=1e-4, atol=2e-3)
    for name, buffer in shared[1].named_buffers():
        torch.testing.assert_close(buffer, getattr(alone[1], name), **NEAR)
    job.check_match(dict(shared[1].named_buffers()))


def test_evaluation_uses_the_running_statistics_and_exchanges_nothing(job):
    norm, alone = distributed.SyncBatchNorm(CHANNELS), torch.nn.BatchNorm2d(CHANNELS)
    batch = whole_batch(job.size())
    norm(part_of(job, batch))
    alone(batch)
    norm.eval()
    alone.eval()
    if job.rank() == 0:  # the others would be waited for
        torch.testing.assert_close(norm(batch), alone(batch), **NEAR)
    untracked = distributed.SyncBatchNorm(CHANNELS, track_running_stats=False).eval()
    if job.rank() == 0:
        torch.testing.assert_close(untracked(batch).mean(), torch.tensor(0.0), atol=1e-5, rtol=0)


def test_double_precision_is_that_of_one_process(job):
    batch = whole_batch(job.size(), shape=(), dtype=torch.float64)
    norm, alone = distributed.SyncBatchNorm(CHANNELS).double(), torch.nn.BatchNorm1d(CHANNELS).double()
    mine, whole = part_of(job, batch).clone().requires_grad_(), batch.clone().requires_grad_()
    norm(mine).pow(3).sum().backward()
    alone(whole).pow(3).sum().backward()
    torch.testing.assert_close(mine.grad, part_of(job, whole.grad), rtol=1e-11, atol=1e-11)
    torch.testing.assert_close(norm.running_var, alone.running_var, rtol=1e-13, atol=0)


def test_a_large_mean_does_not_swallow_the_variance(job):
    batch = whole_batch(job.size(), offset=10000.0)
    norm = distributed.SyncBatchNorm(CHANNELS, momentum=1.0)
    norm(part_of(job, batch))
    true = batch.double().var((0, 2, 3))
    torch.testing.assert_close(norm.running_var.double(), true, rtol=1e-3, atol=0)


def test_a_rank_without_values_takes_part(job):
    if job.size() == 1:
        pytest.skip("needs two ranks")
    batch = whole_batch(job.size())
    norm, alone = distributed.SyncBatchNorm(CHANNELS), torch.nn.BatchNorm2d(CHANNELS)
    mine = (batch if job.rank() == 0 else batch[:0]).clone().requires_grad_()
    output = norm(mine)
    output.pow(3).sum().backward()
    if job.rank() == 0:
        torch.testing.assert_close(output, alone(batch), rtol=1e-4, atol=1e-5)
    assert output.shape == mine.shape == mine.grad.shape
    job.check_match(dict(norm.named_buffers()))


@pytest.mark.parametrize("dtype,bound", [(torch.bfloat16, 0.02), (torch.float16, 0.003)])
def test_half_precision_is_accumulated_in_float32(job, dtype, bound):
    if job.size() == 1 and dtype == torch.float16:
        pytest.skip("torch's own BatchNorm has no float16 on CPUs")
    batch = whole_batch(job.size(), dtype=dtype)
    norm, alone = distributed.SyncBatchNorm(CHANNELS), torch.nn.BatchNorm2d(CHANNELS)
    mine = part_of(job, batch).clone().requires_grad_()
    output = norm(mine)
    wanted = alone(batch.float())
    output.sum().backward()
    assert output.dtype == mine.grad.dtype == dtype and norm.running_mean.dtype == torch.float32
    torch.testing.assert_close(output.float(), part_of(job, wanted), rtol=bound, atol=bound)
    torch.testing.assert_close(norm.running_var, alone.running_var, **NEAR)


def test_within_autocast(job):
    model = model_of(distributed.SyncBatchNorm(CHANNELS))
    alone = model_of(torch.nn.BatchNorm2d(CHANNELS))
    batch = whole_batch(job.size())
    with torch.autocast("cpu", dtype=torch.bfloat16):
        output, whole = model(part_of(job, batch)), alone(batch)
    loss_of(output.float()).backward()
    loss_of(whole.float()).backward()
    for name, gradient in gradients(job, model).items():
        wanted = dict(alone.named_parameters())[name].grad
        assert gradient.dtype == torch.float32
        assert (gradient - wanted).norm() <= 0.05 * wanted.norm() + 0.5, name


def test_statistics_of_a_group(job):
    if job.size() == 1:
        pytest.skip("needs two ranks")
    group = job.group_create([job.size() - 1, 0])
    batch = whole_batch(job.size())
    if group.rank() >= 0:
        norm, alone = distributed.SyncBatchNorm(CHANNELS, process_group=group), torch.nn.BatchNorm2d(CHANNELS)
        parts = batch[:rows_of(job.size(), 0)], batch[-rows_of(job.size(), job.size() - 1):]
        norm(part_of(job, batch))
        alone(torch.cat(parts))
        torch.testing.assert_close(norm.running_mean, alone.running_mean, **NEAR)
    group.free()


def test_statistics_of_a_group_of_torch_distributed(gloo, job):
    batch = whole_batch(job.size())
    norm, alone = distributed.SyncBatchNorm(CHANNELS, process_group=gloo), torch.nn.BatchNorm2d(CHANNELS)
    torch.testing.assert_close(norm(part_of(job, batch)), part_of(job, alone(batch)), rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(norm.running_var, alone.running_var, **NEAR)


def test_a_model_is_converted_with_its_state(job):
    model = torch.nn.ModuleDict({"a": torch.nn.Sequential(torch.nn.BatchNorm1d(3, affine=False)),
                                 "b": torch.nn.BatchNorm3d(4, momentum=0.3), "c": torch.nn.LayerNorm(2)})
    model["b"].running_mean.fill_(2.0)
    model["b"].eval()
    before, weight = {name: each.clone() for name, each in model.state_dict().items()}, model["b"].weight
    model = distributed.SyncBatchNorm.convert_sync_batchnorm(model)
    assert [type(each).__name__ for each in (model["a"][0], model["b"], model["c"])] == [
        "SyncBatchNorm", "SyncBatchNorm", "LayerNorm"]
    assert model["b"].weight is weight and model["b"].momentum == 0.3
    assert not model["b"].training and model["a"][0].training
    assert before.keys() == model.state_dict().keys()
    assert all(torch.equal(before[name], each) for name, each in model.state_dict().items())
    alone = distributed.SyncBatchNorm.convert_sync_batchnorm(torch.nn.BatchNorm2d(3))
    assert isinstance(alone, distributed.SyncBatchNorm)


def test_what_it_cannot_normalize_is_an_error_on_all_ranks(job):
    norm = distributed.SyncBatchNorm(3)
    with pytest.raises(job.ArgumentError, match=r"the shape \(2, 4\), not \[batch, 3 channels, ...\]"):
        norm(torch.ones(2, 4))
    if job.size() > 1:
        with pytest.raises(job.ArgumentError, match="the batches of all ranks have 1 values for each channel; training needs 2"):
            norm(torch.ones(1 if job.rank() == 0 else 0, 3))


@pytest.mark.parametrize("wrap", ["optimizer", "ddp"])
def test_a_training_is_that_of_one_process(gloo, job, wrap):
    """Gradients are exchanged while backward of the normalization exchanges its sums."""
    model = model_of(distributed.SyncBatchNorm(CHANNELS))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.02)
    trained = model
    if wrap == "ddp":
        trained = torch.nn.parallel.DistributedDataParallel(model)
    else:
        optimizer = distributed.DistributedOptimizer(optimizer, model.named_parameters())
    alone = model_of(torch.nn.BatchNorm2d(CHANNELS))
    plain = torch.optim.SGD(alone.parameters(), lr=0.02)
    for step in range(4):
        batch = whole_batch(job.size()) + step
        for each, one_optimizer, inputs, ranks in ((trained, optimizer, part_of(job, batch), job.size()), (alone, plain, batch, 1)):
            one_optimizer.zero_grad()
            (loss_of(each(inputs)) * ranks / batch.numel()).backward()
            one_optimizer.step()
    for name, each in model.state_dict().items():
        torch.testing.assert_close(each, alone.state_dict()[name], rtol=1e-3, atol=1e-5)
    job.check_match(dict(model.state_dict()))
    if wrap == "optimizer":
        optimizer.close()
