"""CRC32C (Castagnoli), as the manifests of checkpoints have it. By libslipway, where that is loaded, at the speed of
memory and without the interpreter's lock; with NumPy at some hundred MB/s, without it at ten."""

import ctypes

from slipway import _library

_POLYNOMIAL = 0x82F63B78
_ROWS = 4096
_LEAST_FOR_NUMPY = 1 << 20
_PIECE = 4 << 20


def _table():
    table = []
    for byte in range(256):
        for _ in range(8):
            byte = (byte >> 1) ^ (_POLYNOMIAL if byte & 1 else 0)
        table.append(byte)
    return table


_TABLE = _table()


def _plain(data, state):
    for byte in data:
        state = _TABLE[(state ^ byte) & 0xFF] ^ (state >> 8)
    return state


def _times(matrix, vector):
    """A matrix over GF(2), one word for each bit of the vector."""
    result, bit = 0, 0
    while vector:
        if vector & 1:
            result ^= matrix[bit]
        vector >>= 1
        bit += 1
    return result


def _zeros(count):
    """The matrix that appends `count` zero bytes to a state."""
    power = [_plain(b"\0", 1 << bit) for bit in range(32)]
    result = [1 << bit for bit in range(32)]
    while count:
        if count & 1:
            result = [_times(power, word) for word in result]
        power = [_times(power, word) for word in power]
        count >>= 1
    return result


def _by_rows(numpy, data, state):
    """All rows of the data at once, byte by byte; then one after the other."""
    length = len(data) // _ROWS
    table = numpy.array(_TABLE, dtype=numpy.uint32)
    columns = numpy.ascontiguousarray(numpy.frombuffer(data, numpy.uint8, _ROWS * length).reshape(_ROWS, length).T)
    states = numpy.zeros(_ROWS, numpy.uint32)
    for column in columns:
        states = table[(states ^ column) & 0xFF] ^ (states >> 8)
    shift = _zeros(length)
    for row in states.tolist():
        state = _times(shift, state) ^ row
    return _plain(memoryview(data)[_ROWS * length:], state)


def _by_library(data, state):
    if not isinstance(data, bytes):
        view = memoryview(data).cast("B")
        data = bytes(view) if view.readonly else (ctypes.c_char * len(view)).from_buffer(view)
    return _library.library().slipway_crc32c(ctypes.cast(data, ctypes.c_void_p), len(data), state)


def _in_python(data, state):
    if len(data) >= _LEAST_FOR_NUMPY:
        try:
            import numpy
        except ImportError:
            pass
        else:
            return _by_rows(numpy, data, state)
    return _plain(data, state)


def crc32c(data, before=0):
    """Of bytes that come after those whose CRC is `before`. crc32c(b"123456789") == 0xe3069283"""
    if _library.loaded():
        return _by_library(data, before)
    return _in_python(data, before ^ 0xFFFFFFFF) ^ 0xFFFFFFFF


def of_file(path):
    """Size and CRC32C of a file, read in pieces. Errors: OSError."""
    size = crc = 0
    with open(path, "rb", buffering=0) as source:
        while piece := source.read(_PIECE):
            crc, size = crc32c(piece, crc), size + len(piece)
    return size, crc
