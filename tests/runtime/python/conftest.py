"""Every test file runs on all ranks of an mpirun at once, so tests may be collective. A rank whose test fails ends at
once, without slipway.finalize, and mpirun ends the others."""

import os
import pathlib
import shutil
import sys
import tempfile

import pytest

if os.environ.get("SLIPWAY_TEST_WITHOUT_TORCH"):
    sys.modules["torch"] = None  # `import torch` raises ImportError
else:
    import torch

    torch.set_num_threads(1)

_status = 0


@pytest.fixture(scope="session")
def job():
    """The package, in the job."""
    import slipway
    if not slipway.initialized():
        slipway.init()
    return slipway


@pytest.fixture(scope="session")
def gloo():
    """Joins the job by the backend "slipway", as a program under mpirun does; a group of gloo of the same ranks."""
    import slipway.torch
    dist = slipway.torch.torch.distributed
    if not dist.is_initialized():
        dist.init_process_group("slipway")
    return dist.new_group(backend="gloo")


@pytest.fixture
def folder(job, monkeypatch):
    """One folder for all ranks, gone after the test."""
    monkeypatch.delenv("SLIPWAY_RESUME_FROM", raising=False)
    name = job.broadcast_object(tempfile.mkdtemp() if job.rank() == 0 else None)
    yield pathlib.Path(name)
    job.checkpoint.wait()
    job.barrier()
    if job.rank() == 0:
        shutil.rmtree(name)


def pytest_sessionfinish(exitstatus):
    global _status
    _status = int(exitstatus)


@pytest.hookimpl(trylast=True)
def pytest_unconfigure():
    if _status != 0:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(_status)
