#!/usr/bin/python3
"""A stand-in for Cray's dwstat: what `scontrol show dwstat` prints, a table of the buffers."""

import argparse
import pathlib
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

from store import Store  # noqa: E402: the line above says where it is


def main(arguments):
    parser = argparse.ArgumentParser(prog="dwstat")
    parser.add_argument("--store", required=True)
    parser.add_argument("what", nargs="*", help="ignored: there is one table")
    buffers = Store(parser.parse_args(arguments).store)
    print(f"pool {buffers.pool}: {buffers.capacity} bytes")
    print(f"{'token':<20} {'creator':<8} {'owner':>6} {'bytes':>14} {'used':>14}")
    for buffer in buffers.buffers():
        print(f"{buffer.token:<20} {buffer.record['creator']:<8} {buffer.record['uid']:>6} {buffer.size:>14} "
              f"{buffer.used():>14}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
