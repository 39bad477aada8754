#!/usr/bin/env python3
"""A training program without libslipway: writes checkpoints in the documented layout, and results.

usage: checkpointer.py LAST_STEP [--pause SECONDS] [--fail-at STEP] [--sleep-at STEP] [--bytes N]
"""

import argparse
import json
import os
import pathlib
import shutil
import sys
import time

TABLE = []
for value in range(256):
    for _ in range(8):
        value = value >> 1 ^ (0x82F63B78 if value & 1 else 0)
    TABLE.append(value)


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc = TABLE[(crc ^ byte) & 0xFF] ^ crc >> 8
    return crc ^ 0xFFFFFFFF


def write_durably(path, data):
    with open(path, "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def save(checkpoints, step, size):
    name = f"step-{step:012}"
    prepared = checkpoints / f".tmp-{name}-{os.getpid()}"
    prepared.mkdir(parents=True)
    data = f"weights of {step} ".encode() * (size // 16)
    write_durably(prepared / "weights.bin", data)
    manifest = {"schema": "slipway.checkpoint/1", "step": step, "epoch": step, "world_size": 1, "spec_hash": "",
                "files": [{"path": "weights.bin", "bytes": len(data), "crc32c": crc32c(data)}]}
    write_durably(prepared / "manifest.json", json.dumps(manifest).encode())
    if (checkpoints / name).exists():
        shutil.rmtree(checkpoints / name)
    prepared.rename(checkpoints / name)


def resume_from(directory):
    if not directory:
        return 0
    return json.loads((pathlib.Path(directory) / "manifest.json").read_text())["step"]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("last", type=int)
    parser.add_argument("--pause", type=float, default=0)
    parser.add_argument("--fail-at", type=int, default=-1)
    parser.add_argument("--sleep-at", type=int, default=-1)
    parser.add_argument("--bytes", type=int, default=4096)
    options, _ = parser.parse_known_args()
    checkpoints = pathlib.Path(os.environ["SLIPWAY_CHECKPOINT_DIR"])
    outputs = pathlib.Path(os.environ["SLIPWAY_OUTPUT_DIR"])
    start = resume_from(os.environ["SLIPWAY_RESUME_FROM"])
    print(f"from step {start}", flush=True)
    for step in range(start + 1, options.last + 1):
        (outputs / f"scores-{step}.csv").write_text(f"{step},0.5\n")
        save(checkpoints, step, options.bytes)
        with open(os.environ["SLIPWAY_METRICS"], "a") as metrics:
            metrics.write(json.dumps({"time": time.time(), "step": step, "epoch": step, "metrics": {"loss": 1 / step}}) + "\n")
        if step == options.fail_at and start < step and os.environ["SLIPWAY_ATTEMPT"] == "1":
            sys.exit(3)
        if step == options.sleep_at:
            pathlib.Path("sleeping").touch()
            time.sleep(60)
        time.sleep(options.pause)


if __name__ == "__main__":
    main()
