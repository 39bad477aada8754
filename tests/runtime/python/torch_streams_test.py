"""The streams of a GPU on which gradients are made and copied: what torch is asked for. There is no GPU here."""

import contextlib
from types import SimpleNamespace

import pytest
import torch

from slipway import _arrays
from slipway.torch_training import batches

GPU = torch.device("cuda", 1)


@pytest.fixture
def chosen(monkeypatch):
    """The streams that torch is told to work on."""
    streams = []

    @contextlib.contextmanager
    def work_on(stream):
        streams.append(stream)
        yield

    monkeypatch.setattr(torch.cuda, "stream", work_on)
    monkeypatch.setattr(torch.cuda, "ExternalStream", lambda handle, device: ("external", handle, device))
    monkeypatch.setattr(torch.cuda, "default_stream", lambda device: ("default", device))
    return streams


@pytest.mark.parametrize("current, made_on, wanted", [
    (16, 16, []),
    (0, 0, []),
    (16, 32, [("external", 32, GPU)]),
    (0, 32, [("external", 32, GPU)]),
    (16, 0, [("default", GPU)]),
])
def test_a_batch_is_copied_on_the_stream_that_has_made_it(chosen, monkeypatch, current, made_on, wanted):
    monkeypatch.setattr(batches, "stream_on", lambda device: current if device == GPU else None)
    with batches._on(made_on, GPU):
        assert chosen == wanted


@pytest.fixture
def current_stream(monkeypatch):
    """By torch's public way: it is 7 on each device."""
    asked = []
    monkeypatch.setattr(torch.cuda, "current_stream",
                        lambda device: (asked.append(device), SimpleNamespace(cuda_stream=7))[1])
    return asked


def test_the_current_stream_is_asked_for_by_torch_s_fast_way(current_stream, monkeypatch):
    monkeypatch.setattr(torch._C, "_cuda_getCurrentRawStream", lambda index: 100 + index, raising=False)
    assert _arrays.stream_on(GPU) == 101 and _arrays.stream_on(torch.device("cuda", 0)) == 100
    assert _arrays.stream_on(torch.device("cpu")) == 0 and current_stream == []
    assert _arrays.stream_on(torch.device("cuda")) == 7, "which device that is torch alone knows"
    assert current_stream == [torch.device("cuda")]


def test_a_torch_without_the_fast_way_is_asked_by_its_public_one(current_stream, monkeypatch):
    monkeypatch.delattr(torch._C, "_cuda_getCurrentRawStream", raising=False)
    assert _arrays.stream_on(GPU) == 7 and current_stream == [GPU]
    assert _arrays.stream_on(torch.device("cpu")) == 0 and current_stream == [GPU]
