"""Batches of a dataset for one rank, as NumPy arrays: the reader of libslipway_reader.so, over ctypes.

    import slipway.data
    reader = slipway.data.open("train", batch=64, seed=1, fields=[
        {"name": "image", "shape": [28, 28], "transforms": [{"op": "normalise", "scale": 1 / 255}]}, "label"])
    for epoch in range(3):
        for batch in reader:            # one epoch
            train(batch["image"], batch["label"])
        save(reader.position)

The options are those of docs/reference/batch-reader.md. Arrays show the reader's own memory: they hold until the next batch is taken.
"""

import ctypes
import json
import os
import pathlib

import numpy as np

import slipway
from slipway import _job
from slipway import _library as job_library
from slipway.errors import ArgumentError, FileError, InternalError, LibraryError, OutOfMemoryError, SlipwayError

VERSION = "0.1.0"
SONAME = "libslipway_reader.so.0.1"
PADDING = 2**64 - 1

_DTYPES = {0: "float32", 1: "float64", 2: "int32", 3: "int64", 4: "float16", 6: "uint8", 7: "int8", 8: "int16",
           9: "uint16", 10: "uint32", 11: "uint64"}


class _Field(ctypes.Structure):
    """slipway_reader_field"""

    _fields_ = [("name", ctypes.c_char_p), ("dtype", ctypes.c_int), ("ndim", ctypes.c_int),
                ("shape", ctypes.POINTER(ctypes.c_int64)), ("data", ctypes.c_void_p), ("bytes", ctypes.c_size_t)]


class _Bytes(ctypes.Structure):
    """slipway_reader_bytes"""

    _fields_ = [("data", ctypes.c_void_p), ("size", ctypes.c_size_t)]


class _Batch(ctypes.Structure):
    """slipway_reader_batch"""

    _fields_ = [("epoch", ctypes.c_int64), ("step", ctypes.c_int64), ("slot", ctypes.c_int64), ("size", ctypes.c_int64),
                ("valid_count", ctypes.c_int64), ("valid", ctypes.c_void_p), ("records", ctypes.c_void_p),
                ("nfields", ctypes.c_int), ("fields", ctypes.POINTER(_Field)), ("payloads", ctypes.POINTER(_Bytes))]


class Stats(ctypes.Structure):
    """slipway_reader_numbers: of the batches handed out since the reader was opened; times in seconds."""

    _fields_ = [("batches", ctypes.c_int64), ("records", ctypes.c_int64), ("wait_s", ctypes.c_double),
                ("last_wait_s", ctypes.c_double), ("longest_wait_s", ctypes.c_double),
                ("corrupt_records", ctypes.c_int64), ("replaced", ctypes.c_int64)]

    def __repr__(self):
        return "Stats(" + ", ".join(f"{name}={getattr(self, name)}" for name, _ in self._fields_) + ")"


_TEXT, _READER, _BATCH = ctypes.c_char_p, ctypes.c_void_p, ctypes.POINTER(_Batch)

# Name -> what it returns, what it takes; in the order of slipway_reader.h.
PROTOTYPES = {
    "slipway_reader_error_message": (_TEXT, []),
    "slipway_reader_version": (_TEXT, []),
    "slipway_reader_open": (ctypes.c_int, [_TEXT, _TEXT, ctypes.POINTER(_READER)]),
    "slipway_reader_open_into": (ctypes.c_int, [_TEXT, _TEXT, ctypes.POINTER(ctypes.c_void_p),
                                                ctypes.POINTER(ctypes.c_size_t), ctypes.c_size_t,
                                                ctypes.POINTER(_READER)]),
    "slipway_reader_close": (None, [_READER]),
    "slipway_reader_fields": (ctypes.c_int, [_READER, ctypes.POINTER(ctypes.POINTER(_Field)),
                                             ctypes.POINTER(ctypes.c_int)]),
    "slipway_reader_steps": (ctypes.c_int, [_READER, ctypes.POINTER(ctypes.c_int64)]),
    "slipway_reader_count": (ctypes.c_int, [_READER, ctypes.POINTER(ctypes.c_int64)]),
    "slipway_reader_describe": (ctypes.c_int, [_READER, ctypes.c_uint64, ctypes.POINTER(_TEXT)]),
    "slipway_reader_next": (ctypes.c_int, [_READER, ctypes.POINTER(_BATCH)]),
    "slipway_reader_next_into": (ctypes.c_int, [_READER, ctypes.POINTER(ctypes.c_void_p), ctypes.c_int,
                                                ctypes.POINTER(_BATCH)]),
    "slipway_reader_position": (ctypes.c_int, [_READER, _TEXT, ctypes.c_size_t]),
    "slipway_reader_seek": (ctypes.c_int, [_READER, _TEXT]),
    "slipway_reader_stats": (ctypes.c_int, [_READER, ctypes.POINTER(Stats)]),
    "slipway_reader_corrupt": (ctypes.c_int, [_READER, ctypes.POINTER(_TEXT)]),
}

_ERRORS = {1: ArgumentError, 2: FileError, 3: OutOfMemoryError, 4: InternalError}


def _candidates():
    """Where the library may be; a bare name is looked up by the dynamic loader."""
    chosen = os.environ.get("SLIPWAY_READER_LIBRARY")
    if chosen:
        return [chosen]
    beside = pathlib.Path(__file__).absolute().parents[4] / "libslipway_reader.so"  # lib/ of lib/slipway/python/slipway/data
    return ([str(beside)] if beside.exists() else []) + [SONAME, "libslipway_reader.so"]


def _load():
    tried = []
    for path in _candidates():
        try:
            library = ctypes.CDLL(path)
        except OSError as error:
            tried.append(f"  {path}: {error}")
            continue
        for name, (returned, taken) in PROTOTYPES.items():
            if not hasattr(library, name):
                raise LibraryError(f"{path} has no function {name}: it is older than this Python package ({VERSION}); "
                                   "take both from one installation")
            function = getattr(library, name)
            function.restype, function.argtypes = returned, taken
        version = library.slipway_reader_version().decode()
        if version.split(".")[:2] != VERSION.split(".")[:2]:
            raise LibraryError(f"{path} is version {version}, and this Python package is {VERSION}; "
                               "take both from one installation")
        return library
    raise LibraryError("libslipway_reader.so cannot be loaded. Tried:\n" + "\n".join(tried) +
                       "\n  next: set SLIPWAY_READER_LIBRARY to the file, or LD_LIBRARY_PATH to its folder")


_library = None


def _calls():
    """The library, loaded at its first use."""
    global _library
    if _library is None:
        _library = _load()
    return _library


def _call(name, *arguments):
    library = _calls()
    status = getattr(library, name)(*arguments)
    if status != 0:
        message = library.slipway_reader_error_message().decode(errors="replace")
        raise _ERRORS.get(status, SlipwayError)(message)


def _view(reader, address, dtype, shape):
    """An array over memory of `reader`, which lives as long as the array."""
    dtype = np.dtype(dtype)
    count = int(np.prod(shape, dtype=np.int64))
    if count == 0:
        return np.empty(shape, dtype)
    memory = (ctypes.c_char * (count * dtype.itemsize)).from_address(address)
    memory.reader = reader
    return np.frombuffer(memory, dtype, count).reshape(shape)


class Batch(dict):
    """The fields by name. `valid` is 0 where padding stands, `records` are numbers over all files of the dataset."""

    def __init__(self, reader, batch):
        super().__init__()
        self.epoch, self.step, self.slot = batch.epoch, batch.step, batch.slot
        self.size, self.valid_count = batch.size, batch.valid_count
        self.valid = _view(reader, batch.valid, "uint8", (batch.size,)).astype(bool)
        self.records = _view(reader, batch.records, "uint64", (batch.size,)).copy()
        self.payloads = None
        if batch.payloads:
            self.payloads = [_view(reader, batch.payloads[i].data, "uint8", (batch.payloads[i].size,))
                             for i in range(batch.size)]
        for i in range(batch.nfields):
            field = batch.fields[i]
            self[field.name.decode()] = _view(reader, field.data, _DTYPES[field.dtype],
                                              tuple(field.shape[:field.ndim]))

    def torch(self):
        """The fields as tensors of PyTorch over the same memory. Types that torch does not have are refused by it."""
        from torch import from_numpy
        return {name: from_numpy(values) for name, values in self.items()}


def _arrays_of(memory):
    """The arrays of all slots. What the threads of the reader write to must be what the caller sees."""
    for slot in memory:
        for array in slot:
            if not (isinstance(array, np.ndarray) and array.flags.c_contiguous and array.flags.writeable):
                raise ArgumentError("memory must be lists of NumPy arrays that are contiguous and may be written")
    if len({len(slot) for slot in memory}) != 1:
        raise ArgumentError("memory must have one array for each field in every slot")
    return [array for slot in memory for array in slot]


def _plain(value):
    if isinstance(value, (np.generic, np.ndarray)):
        return value.tolist()
    raise ArgumentError(f"the reader's options: {value!r} is no number, text, list or dict")


def _json_of(options):
    return json.dumps(options, default=_plain).encode()


class Reader:
    """Iterating gives the batches of one epoch; iterating again goes on with the next one."""

    def __init__(self, dataset, options, memory=None):
        self._reader = _READER()
        self._process = os.getpid()
        self._memory = memory
        arguments = [os.fsencode(dataset), _json_of(options)]
        if memory is None:
            _call("slipway_reader_open", *arguments, ctypes.byref(self._reader))
        else:
            flat = _arrays_of(memory)
            slots = (ctypes.c_void_p * len(flat))(*[array.ctypes.data for array in flat])
            sizes = (ctypes.c_size_t * len(flat))(*[array.nbytes for array in flat])
            _call("slipway_reader_open_into", *arguments, slots, sizes, len(flat), ctypes.byref(self._reader))
            self._require_types(memory)

    def _require_types(self, memory):
        for slot in memory:
            for array, (name, (dtype, _)) in zip(slot, self.fields.items()):
                if array.dtype != dtype:
                    self.close()
                    raise ArgumentError(f"the memory for '{name}' has the type {array.dtype}, the field {dtype}")

    def _require_open(self):
        if not self._reader:
            raise ArgumentError("the reader is closed")
        if self._process != os.getpid():
            raise ArgumentError("the reader belongs to the parent of this process, and so do its threads; "
                                "open one after the fork")
        return self._reader

    def next(self):
        """The next batch, or None at the end of an epoch. In a job its waiting time is shown by the job's trace."""
        batch = _BATCH()
        with _waiting_for_input():
            _call("slipway_reader_next", self._require_open(), ctypes.byref(batch))
        return Batch(self, batch.contents) if batch else None

    def __iter__(self):
        while True:
            batch = self.next()
            if batch is None:
                return
            yield batch

    @property
    def fields(self):
        """Name -> (dtype, shape), the records first."""
        fields, count = ctypes.POINTER(_Field)(), ctypes.c_int()
        _call("slipway_reader_fields", self._require_open(), ctypes.byref(fields), ctypes.byref(count))
        return {fields[i].name.decode(): (np.dtype(_DTYPES[fields[i].dtype]), tuple(fields[i].shape[:fields[i].ndim]))
                for i in range(count.value)}

    @property
    def steps(self):
        """Batches of a whole epoch, the same number on every rank."""
        steps = ctypes.c_int64()
        _call("slipway_reader_steps", self._require_open(), ctypes.byref(steps))
        return steps.value

    @property
    def count(self):
        """Records of an epoch over all ranks, those that fill no step included."""
        records = ctypes.c_int64()
        _call("slipway_reader_count", self._require_open(), ctypes.byref(records))
        return records.value

    def describe(self, record):
        """Where one of a batch's `records` lies: "'FILE': record 3", counted in the file."""
        where = _TEXT()
        _call("slipway_reader_describe", self._require_open(), int(record), ctypes.byref(where))
        return where.value.decode(errors="replace")

    @property
    def position(self):
        """{"epoch", "records_done"} (and "shares"): what a checkpoint keeps. Assigning one goes on there."""
        text = ctypes.create_string_buffer(128)
        _call("slipway_reader_position", self._require_open(), text, len(text))
        return json.loads(text.value)

    @position.setter
    def position(self, position):
        _call("slipway_reader_seek", self._require_open(), _json_of(position))

    @property
    def stats(self):
        numbers = Stats()
        _call("slipway_reader_stats", self._require_open(), ctypes.byref(numbers))
        return numbers

    @property
    def corrupt(self):
        """The first records that were skipped: [{"record", "where", "reason"}]."""
        text = _TEXT()
        _call("slipway_reader_corrupt", self._require_open(), ctypes.byref(text))
        return json.loads(text.value)

    def close(self):
        """Ends the threads; arrays of batches are void then."""
        reader, self._reader = self._reader, _READER()
        if reader and self._process == os.getpid():  # a forked child has no threads that could be joined
            _calls().slipway_reader_close(reader)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def __del__(self):
        if getattr(self, "_reader", None):
            self.close()


class _Nothing:
    def __enter__(self):
        pass

    def __exit__(self, *_):
        pass


def _waiting_for_input():
    """Only in a job: a program that reads data need not have libslipway and its MPI. Nor is a worker of a DataLoader in
    the job: fork() makes it."""
    in_job = job_library.loaded() and _job.joined_here()
    return slipway.waiting_for_input() if in_job else _Nothing()


def open(dataset, *, memory=None, **options):
    """A Reader of `dataset`: the name of one that the launcher staged, or a path. `options`: see docs/reference/batch-reader.md.

    `memory`: instead of the reader's own, (prefetch + 1) lists of contiguous arrays, one for each field.
    """
    return Reader(dataset, options, memory)
