"""What a network says of the validation records, left behind for the selection of model ensembles."""

import json
import os

import numpy as np


def write(folder, records, predicted, targets):
    """Into `folder`, each file complete or not at all:

    predictions.npy  float32 [records, outputs], in the order of `records`
    targets.npy      labels, int64 [records], or values, float32 [records, outputs], in that order
    predictions.json and targets.json: the hash of the record order, which is that of the record numbers
    """
    order = _order_of(records)
    for name, values in (("targets", targets), ("predictions", predicted.astype("<f4"))):
        document = {"schema": f"slipway.{name}/1", "records": len(records), "order": order}
        _write_whole(folder / f"{name}.npy", lambda file, values=values: np.save(file, values))
        _write_whole(folder / f"{name}.json", lambda file, text=json.dumps(document) + "\n": file.write(text.encode()))


def _write_whole(path, write_to):
    temporary = path.with_name(path.name + ".tmp")
    with open(temporary, "wb") as file:
        write_to(file)
    os.replace(temporary, path)


def _order_of(records):
    """FNV-1a, 64 bits, over the bytes of each number, the lowest first."""
    state = 0xcbf29ce484222325
    for byte in np.asarray(records, "<u8").tobytes():
        state = (state ^ byte) * 0x100000001b3 & 0xffffffffffffffff
    return f"{state:016x}"
