"""In place of horovod.torch.compression."""

from slipway.compat.horovod._operations import Compression, FP16Compressor, NoneCompressor

__all__ = ["Compression", "FP16Compressor", "NoneCompressor"]
