"""Staged data for torch.utils.data.DataLoader.

    batches = slipway.data.torch.Batches("train", fields=FIELDS, batch=64, seed=1)
    loader = slipway.data.torch.DataLoader(batches, num_workers=2)
    for epoch in range(3):
        for batch in loader:                  # a dict of tensors; one epoch
            train(batch["image"], batch["label"])
    batches.position                          # for a checkpoint: behind the last batch that the loader gave

`Batches(..., device="cuda")` gives batches in the memory of the GPU.

The reader shares the records out over the ranks and shuffles them, so no DistributedSampler is needed.

With `payloads=True` records come as bytes, to be decoded in `transform`: {"__key__", "jpg", "cls"} of a sample of a
WebDataset, {"record"} of a TFRecord or an image. A batch has a list of them, "samples".
"""

import json
import os
import sys
import warnings

import torch.utils.data
from torch.utils.data import DistributedSampler, get_worker_info

from slipway import data
from slipway.data import device as devices
from slipway.data._samples import sample_of
from slipway.errors import ArgumentError, NotSupportedError

_WARNING = ("a DistributedSampler takes a share of what is already the share of this rank, so most records are never read; next: "
            "leave the sampler out")


def _warn_of_sampler(is_used):
    if is_used:
        warnings.warn(_WARNING, stacklevel=3)


def _settings_of(dataset):
    """What the launcher says about a dataset that it staged."""
    return json.loads(os.environ.get("SLIPWAY_CONFIG") or "{}").get("data", {}).get(str(dataset), {})


class _Dataset:
    """A reader for each process, opened at its first use: a fork has none of the threads of its parent."""

    def __init__(self, dataset, transform, options):
        refused = {"position", "epochs"} & set(options)
        if refused:
            raise ArgumentError(f"the dataset takes no '{sorted(refused)[0]}': set its position, and iterate once an epoch")
        self._dataset, self._transform, self._options = dataset, transform, options
        self._process = self._reader = None

    def __getstate__(self):
        """For workers that are spawned."""
        return {**self.__dict__, "_process": None, "_reader": None}

    def _open(self):
        return data.open(self._dataset, **self._options)

    def _opened(self):
        if self._process != os.getpid():
            self._reader = self._open()
            self._process = os.getpid()
        return self._reader

    def _world(self):
        return int(self._options.get("world", os.environ.get("WORLD_SIZE", 1)))

    def _transformed(self, values):
        return values if self._transform is None else self._transform(values)


def _samples_of(batch):
    return [sample_of(payload.tobytes()) for payload in batch.payloads]


def _values_of(batch, copied):
    """Tensors, and the records as bytes where they are read."""
    values = {name: tensor.clone() if copied else tensor for name, tensor in batch.torch().items()}
    if batch.payloads is not None:
        values["samples"] = _samples_of(batch)
    return values


class Batches(_Dataset, torch.utils.data.IterableDataset):
    """Iterating gives the batches of one epoch from `position` on, as dicts of tensors.

    Without workers the tensors show the reader's memory, until the next batch is taken. With n workers, each opens a
    reader and gives every n-th batch, as copies; the order is the same. `transform(tensors)` runs where the batch is
    made. `options` are those of slipway.data.open.

    With `device`, a GPU, tensors lie in its memory: the reader decodes into pinned memory, and the next batch is copied
    while the program computes. Takes the memory of two batches on the GPU. Not with workers.
    """

    def __init__(self, dataset, *, transform=None, device=None, **options):
        super().__init__(dataset, transform, options)
        self._device = torch.device("cpu" if device is None else device)
        self._position = {"epoch": 0, "records_done": 0}

    def _open(self):
        return super()._open() if self._device.type == "cpu" else devices.open_pinned(self._dataset, self._options)

    @property
    def position(self):
        """{"epoch", "records_done"}: what a checkpoint keeps. Assigning one goes on there, also on other ranks."""
        return dict(self._position)

    @position.setter
    def position(self, position):
        self._position = dict(position)

    def set_epoch(self, epoch):
        self._position = {"epoch": epoch, "records_done": 0}

    def require_no_workers(self):
        """NotSupportedError for batches on a device."""
        if self._device.type != "cpu":
            raise NotSupportedError(f"workers cannot give batches on {self._device}; use num_workers=0: the reader has threads "
                                    "of its own")

    def __len__(self):
        """Batches that are left of this epoch."""
        _warn_of_sampler(isinstance(sys._getframe(1).f_locals.get("self"), DistributedSampler))
        return self._steps_left(self._position["records_done"])

    def _step(self):
        """Records of one step over all ranks."""
        return self._options.get("batch", 1) * self._world()

    def _steps_left(self, records_done):
        left = self._opened().count - records_done
        remainder = self._options.get("remainder") or _settings_of(self._dataset).get("remainder", "drop")
        return left // self._step() if remainder == "drop" else -(-left // self._step())

    def after(self, position, batches):
        """The position `batches` batches behind another of the same epoch."""
        if batches >= self._steps_left(position["records_done"]):
            return {"epoch": position["epoch"] + 1, "records_done": 0}
        return {**position, "records_done": position["records_done"] + batches * self._step()}

    def _every(self, count, first):
        """Batches first, first + count, ... of what is left of the epoch; the reader goes to each."""
        begin = self._position
        if "shares" in self._opened().position:
            raise NotSupportedError("workers cannot read data that differs between nodes; use num_workers=0: the reader has "
                                    "threads of its own")
        for number in range(first, self._steps_left(begin["records_done"]), count):
            self._opened().position = self.after(begin, number)
            yield self._transformed(_values_of(self._opened().next(), copied=True))

    def _made(self, reader):
        """Of each batch the position behind it, and its values."""
        while (batch := reader.next()) is not None:
            yield reader.position, self._transformed(_values_of(batch, copied=False))

    def _all(self):
        reader = self._opened()
        if reader.position != self._position:
            reader.position = self._position
        made = self._made(reader)
        if self._device.type != "cpu":
            made = devices.one_ahead(made, devices.Copies(self._device))
        for self._position, values in made:
            yield values
        self._position = reader.position

    def __iter__(self):
        worker = get_worker_info()
        if worker is None:
            yield from self._all()
        else:
            self.require_no_workers()
            yield from self._every(worker.num_workers, worker.id)
            self.set_epoch(self._position["epoch"] + 1)  # for workers that stay


class Records(_Dataset, torch.utils.data.Dataset):
    """Map-style: record i of this rank's share, in the order of the epoch; a dict of tensors, with `payloads=True` also
    of bytes. `len` is the same on every rank. Reading in order costs least; going to another place starts the reader
    there."""

    def __init__(self, dataset, *, transform=None, **options):
        if options.get("batch", 1) != 1:
            raise ArgumentError("Records gives single records: give batch_size to the DataLoader, or use Batches")
        super().__init__(dataset, transform, options)
        self._epoch = 0

    def set_epoch(self, epoch):
        """The next records are those of another epoch, in its order."""
        self._epoch = epoch

    def __len__(self):
        _warn_of_sampler(isinstance(sys._getframe(1).f_locals.get("self"), DistributedSampler))
        return self._opened().steps

    def __getitem__(self, index):
        reader = self._opened()
        if not 0 <= index < reader.steps:
            raise IndexError(f"there is no record {index} of {reader.steps}")
        position = {"epoch": self._epoch, "records_done": index * self._world()}
        if reader.position != position:
            reader.position = position
        values = _values_of(reader.next(), copied=True)
        samples = values.pop("samples", [{}])
        return self._transformed({**samples[0], **{name: tensor[0] for name, tensor in values.items()}})


class DataLoader(torch.utils.data.DataLoader):
    """torch's, for Batches: it keeps `position` behind the last batch that it gave, however far workers are ahead."""

    def __init__(self, dataset, **options):
        if not isinstance(dataset, Batches):
            raise ArgumentError(f"the dataset is a {type(dataset).__name__}; give a slipway.data.torch.Batches, or use "
                                "torch.utils.data.DataLoader")
        if options.pop("batch_size", None) is not None:
            raise ArgumentError("batch_size is the option `batch` of the dataset: its batches are made by the reader")
        _warn_of_sampler(isinstance(options.pop("sampler", None), DistributedSampler))
        if options.get("num_workers"):
            dataset.require_no_workers()
        super().__init__(dataset, batch_size=None, **options)
        self._next_epoch = None  # of workers that stay

    def __iter__(self):
        if self.num_workers == 0:
            yield from super().__iter__()
            return
        begin = self.dataset.position
        self._require_known_by_workers(begin)
        for number, batch in enumerate(super().__iter__(), 1):
            self.dataset.position = self.dataset.after(begin, number)
            yield batch
        self.dataset.set_epoch(begin["epoch"] + 1)

    def _require_known_by_workers(self, begin):
        """Workers that stay go from epoch to epoch by themselves."""
        if self.persistent_workers and self._next_epoch not in (None, begin):
            raise ArgumentError(f"the position is {begin}, but persistent workers go on with {self._next_epoch}; make a new "
                                "DataLoader after a change of the position, or leave persistent_workers out")
        self._next_epoch = {"epoch": begin["epoch"] + 1, "records_done": 0}
