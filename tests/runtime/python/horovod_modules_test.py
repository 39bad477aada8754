"""Names and modules of Horovod around its operations: what is there, and what says that it is not."""

import importlib

import pytest
import torch

import slipway.compat.horovod.torch as hvd
from slipway.errors import NotSupportedError, SlipwayError


@pytest.fixture(scope="module", autouse=True)
def initialized():
    hvd.init()


def test_small_helpers():
    assert [n for n in range(-2, 9) if hvd.num_rank_is_power_2(n)] == [1, 2, 4, 8]
    hvd.check_num_rank_power_of_2(4)
    with pytest.raises(ValueError, match="6 ranks"):
        hvd.check_num_rank_power_of_2(6)
    assert hvd.split_list(list(range(7)), 3) == [[0, 1, 2], [3, 4], [5, 6]]
    assert hvd.split_list([1], 3) == [[1], [], []]
    assert not hvd.gpu_available("horovod.torch")
    with pytest.MonkeyPatch.context() as with_gpu:
        with_gpu.setattr(torch.cuda, "is_available", lambda: True)
        assert hvd.gpu_available("horovod.torch") and not hvd.gpu_available("horovod.mxnet")
        assert hvd.cuda_built() and not hvd.rocm_built()
        for brought in (False, True):
            with_gpu.setattr(torch.distributed, "is_nccl_available", lambda answer=brought: answer)
            assert hvd.nccl_built() == brought
        with_gpu.setattr(torch.version, "hip", "6.0")
        assert hvd.rocm_built() and not hvd.cuda_built()
    assert not any(built() for built in (hvd.cuda_built, hvd.rocm_built, hvd.nccl_built, hvd.gloo_built))
    hvd.check_extension("horovod.torch", "HOROVOD_WITH_PYTORCH", __file__, "mpi_lib_v2")
    with pytest.raises(ImportError, match="horovod.mxnet is not there"):
        hvd.check_extension("horovod.mxnet", "HOROVOD_WITH_MXNET", __file__)
    assert list(hvd.ReduceOp) == [hvd.Average, hvd.Sum, hvd.Min, hvd.Max, hvd.Product]
    assert tuple(map(int, hvd.__version__.split("."))) >= (0, 28)


def test_the_ids_of_process_sets():
    assert hvd.get_process_set_ids() == [0]
    first = hvd.add_process_set([0])
    assert hvd.get_process_set_ids() == [0, first.process_set_id]
    assert hvd.get_process_set_ids_and_ranks() == {0: list(range(hvd.size())), first.process_set_id: [0]}
    hvd.remove_process_set(first)
    assert hvd.get_process_set_ids() == [0]


def test_modules_that_are_there():
    from slipway.compat.horovod.common.exceptions import HorovodInternalError, HostsUpdatedInterrupt
    from slipway.compat.horovod.common.util import split_list
    from slipway.compat.horovod.torch import mpi_ops
    from slipway.compat.horovod.torch.compression import Compression, FP16Compressor
    assert HorovodInternalError is hvd.HorovodInternalError and issubclass(HorovodInternalError, SlipwayError)
    assert not HostsUpdatedInterrupt().skip_sync and split_list is hvd.split_list
    assert Compression.fp16 is FP16Compressor is hvd.Compression.fp16
    assert mpi_ops.allreduce(torch.ones(1), op=mpi_ops.Sum).item() == mpi_ops.size()
    assert all(getattr(mpi_ops, name) is getattr(hvd, name) for name in hvd.__all__)


@pytest.mark.parametrize("name", ["tensorflow", "keras", "mxnet", "elastic", "spark", "ray", "runner", "torch.elastic"])
def test_modules_that_are_not_there(name):
    with pytest.raises(ImportError, match=f"horovod.{name.split('.')[-1]} is not there: .*slipway"):
        importlib.import_module(f"slipway.compat.horovod.{name}")


def test_names_that_are_not_there():
    with pytest.raises(NotSupportedError, match="op=hvd.Average"):
        hvd.Adasum
    with pytest.raises(NotSupportedError, match="op=hvd.Average"):
        from slipway.compat.horovod.torch.mpi_ops import Adasum  # noqa
    with pytest.raises(NotSupportedError, match="slipway run"):
        hvd.elastic
    with pytest.raises(ImportError, match="slipway run"):
        from slipway.compat.horovod.torch import elastic  # noqa
    assert not hasattr(hvd, "no_such_name") and not hasattr(hvd, "__wrapped__")
