"""Parameter servers of NumPy arrays."""

import gc

import numpy as np
import pytest


def test_a_synchronous_server_is_sgd_on_the_mean(job):
    weights = {"w": np.full((4, 3), float(job.rank()), "float32"), "b": np.zeros(2)}
    server = job.ParameterServer("sync", weights, 0.5)
    assert np.all(weights["w"] == 0)  # those of rank 0
    for step in range(1, 4):
        server.push({"b": np.ones(2), "w": np.full((4, 3), job.rank(), "float32")})
        server.pull()
        assert np.allclose(weights["w"], -0.5 * step * (job.size() - 1) / 2)
        assert np.allclose(weights["b"], -0.5 * step)
        assert server.lead() == 0
    server.set_rate(1)
    server.push([np.zeros((4, 3), "float32"), np.ones(2)])
    server.pull()
    assert np.allclose(weights["b"], -2.5)
    server.free()
    with pytest.raises(job.StateError, match="no parameter server 'sync'"):
        server.pull()


def test_an_asynchronous_server_takes_every_push(job):
    weights = [np.zeros(100)]
    server = job.ParameterServer("async", weights, 1, staleness=2)
    for _ in range(10):
        server.push([np.full(100, -1.0)])
        server.pull()
        assert 0 <= server.lead() <= 2
    job.barrier()
    server.pull()
    assert np.allclose(weights[0], 10)
    job.barrier()
    server.free()


def test_parameters_stay_alive_while_the_library_writes_into_them(job):
    server = job.ParameterServer("alive", [np.ones(1000)], 1)
    gc.collect()
    server.push([np.ones(1000)])
    server.pull()
    server.free()


def test_what_does_not_fit_is_refused(job):
    with pytest.raises(job.ArgumentError, match="int64"):
        job.ParameterServer("integers", [np.zeros(3, "int64")], 1)
    with pytest.raises(job.ArgumentError, match="rate"):
        job.ParameterServer("rate", [np.zeros(3)], -1)
    server = job.ParameterServer("fit", {"w": np.zeros(3), "b": np.zeros(1)}, 1)
    for gradients in ([np.zeros(3)], {"w": np.zeros(3)}, {"w": np.zeros(3), "b": np.zeros(1), "c": np.zeros(1)},
                      {"w": np.zeros(4), "b": np.zeros(1)}, {"w": np.zeros(3, "float32"), "b": np.zeros(1)}):
        with pytest.raises(job.ArgumentError, match="parameter server 'fit'"):
            server.push(gradients)
    with pytest.raises(job.StateError, match="already"):
        job.ParameterServer("fit", {"w": np.zeros(3), "b": np.zeros(1)}, 1)
    server.free()
