#!/usr/bin/python3
"""slipway bench stage-across: a dataset on several nodes, each byte read once and passed on, against every node reading all.

Nodes are network namespaces of this machine. A GlusterFS server stands behind a link of its own (token bucket), every
node behind another; all nodes mount its directory through FUSE. The sides take turns: every node stages alone (all),
one ring in which all nodes read (ring), one ring in which only node 0 reads (chain). Medians over the rounds, of the
slowest node. Needs root, glusterfs, iproute2 and util-linux; makes its own data and removes everything again.
"""

import argparse
import contextlib
import json
import os
import pathlib
import random
import secrets
import shutil
import statistics
import struct
import subprocess
import sys
import tempfile
import time

SIDES = ("all", "ring", "chain")
SERVER = "10.77.0.1"
PORT = 24007
RECORD = 110_000


def arguments_of(line):
    parser = argparse.ArgumentParser(prog="slipway bench stage-across", description=__doc__.splitlines()[0])
    parser.add_argument("--nodes", type=int, default=4, metavar="N", help="nodes (4)")
    parser.add_argument("--megabytes", type=int, default=268, metavar="MB", help="size of the dataset (268)")
    parser.add_argument("--files", type=int, default=32, metavar="N", help="TFRecord files in it (32)")
    parser.add_argument("--rounds", type=int, default=3, metavar="N", help="measurements of each side (3)")
    parser.add_argument("--server-mbit", type=int, default=800, metavar="N", help="link of the file server (800)")
    parser.add_argument("--node-mbit", type=int, default=1000, metavar="N", help="link of each node (1000)")
    parser.add_argument("--at-least", type=float, metavar="X",
                        help="fail unless the ring is X times as fast as all, and the server sends within 5 %% of one copy")
    parser.add_argument("--json", action="store_true", help="print one JSON document instead of the table")
    arguments = parser.parse_args(line)
    if arguments.nodes < 2 or arguments.rounds < 1 or arguments.files < 1:
        parser.error("--nodes counts from 2, --rounds and --files from 1")
    return arguments


def obstacle():
    """Why this machine cannot do it, or None."""
    if os.geteuid() != 0:
        return "it makes network namespaces and mounts, which needs root"
    for program, package in (("glusterfsd", "glusterfs-server"), ("glusterfs", "glusterfs-client"),
                             ("ip", "iproute2"), ("tc", "iproute2"), ("nsenter", "util-linux")):
        if shutil.which(program) is None:
            return f"there is no {program} in PATH (package {package})"
    if not os.path.exists("/dev/fuse"):
        return "there is no /dev/fuse"
    return None


def run(*words):
    subprocess.run(words, check=True, stdout=subprocess.DEVNULL)


# --- data -------------------------------------------------------------------------------------------------------------

def crc32c_table():
    table = []
    for byte in range(256):
        crc = byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
        table.append(crc)
    return table


def masked_crc32c(data, table=crc32c_table()):
    crc = 0xFFFFFFFF
    for byte in data:
        crc = crc >> 8 ^ table[crc & 0xFF ^ byte]
    crc ^= 0xFFFFFFFF
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def records():
    """A few different records; more would only cost time to make."""
    generator = random.Random(1)
    for _ in range(16):
        payload = generator.randbytes(RECORD)
        length = struct.pack("<Q", RECORD)
        yield (length + struct.pack("<I", masked_crc32c(length)) + payload
               + struct.pack("<I", masked_crc32c(payload)))


def make_dataset(directory, files, size):
    generator, some = random.Random(2), list(records())
    count = max(1, round(size / files / len(some[0])))
    for number in range(files):
        with open(directory / f"part-{number:05}.tfrecord", "wb") as file:
            for _ in range(count):
                file.write(generator.choice(some))
    return files * count * len(some[0])


# --- network ----------------------------------------------------------------------------------------------------------

class Network:
    """A hub with a bridge, the server and the nodes, each a namespace; both ends of every link are shaped."""

    def __init__(self, stack, nodes, server_mbit, node_mbit):
        self.prefix = f"slipway-{os.getpid()}-"
        self.stack = stack
        self.hub = self._space("hub")
        self._in(self.hub, "ip", "link", "add", "bridge", "type", "bridge")
        self._in(self.hub, "ip", "link", "set", "bridge", "up")
        self.server = self._join("server", SERVER, server_mbit)
        self.addresses = [f"10.77.0.{10 + node}" for node in range(nodes)]
        self.nodes = [self._join(f"node{node}", address, node_mbit) for node, address in enumerate(self.addresses)]

    def _space(self, name):
        run("ip", "netns", "add", self.prefix + name)
        self.stack.callback(subprocess.run, ["ip", "netns", "del", self.prefix + name])
        return self.prefix + name

    @staticmethod
    def _in(space, *words):
        run("ip", "netns", "exec", space, *words)

    def _join(self, name, address, mbit):
        space = self._space(name)
        run("ip", "link", "add", "eth0", "netns", space, "type", "veth", "peer", "name", name, "netns", self.hub)
        self._in(self.hub, "ip", "link", "set", name, "master", "bridge", "up")
        self._in(space, "ip", "address", "add", address + "/24", "dev", "eth0")
        for device in ("lo", "eth0"):
            self._in(space, "ip", "link", "set", device, "up")
        for where, device in ((space, "eth0"), (self.hub, name)):
            self._in(where, "tc", "qdisc", "add", "dev", device, "root", "tbf", "rate", f"{mbit}mbit",
                     "burst", "256kb", "latency", "50ms")
        return space

    def server_sent(self):
        """Bytes that have left the server, protocols included."""
        done = subprocess.run(["ip", "netns", "exec", self.server, "ip", "-s", "-j", "link", "show", "eth0"],
                              check=True, capture_output=True, text=True)
        return json.loads(done.stdout)[0]["stats64"]["tx"]["bytes"]


def enter(space, *words):
    """A command in this network that sees the mounts of ours: `ip netns exec` would hide them."""
    return ["nsenter", f"--net=/var/run/netns/{space}", *words]


SERVER_VOLUME = """
volume files
  type storage/posix
  option directory {directory}
end-volume
volume data
  type features/locks
  subvolumes files
end-volume
volume server
  type protocol/server
  option transport-type tcp
  option transport.socket.bind-address {address}
  option transport.socket.listen-port {port}
  option auth.addr.data.allow *
  subvolumes data
end-volume
"""

NODE_VOLUME = """
volume data
  type protocol/client
  option transport-type tcp
  option remote-host {address}
  option remote-port {port}
  option remote-subvolume data
end-volume
"""


class FileServer:
    def __init__(self, stack, network, work, directory):
        volume = work / "server.vol"
        volume.write_text(SERVER_VOLUME.format(directory=directory, address=SERVER, port=PORT))
        self.process = subprocess.Popen(enter(network.server, "glusterfsd", "-N", "-f", str(volume), "-l",
                                              str(work / "server.log"), "-p", str(work / "server.pid")))
        stack.callback(self._end)
        self.volume = work / "node.vol"
        self.volume.write_text(NODE_VOLUME.format(address=SERVER, port=PORT))
        self.work = work
        time.sleep(1)

    def _end(self):
        self.process.terminate()
        self.process.wait()

    def mount(self, stack, space, number):
        place = self.work / f"mount{number}"
        place.mkdir()
        process = subprocess.Popen(enter(space, "glusterfs", "-N", "-f", str(self.volume), "-l",
                                         str(self.work / f"mount{number}.log"), str(place)))
        stack.callback(self._unmount, place, process)
        for _ in range(100):
            if os.path.ismount(place):
                return place
            time.sleep(0.1)
        sys.exit(f"error: node {number} cannot mount the file system of the server")

    @staticmethod
    def _unmount(place, process):
        subprocess.run(["umount", "--lazy", str(place)])
        process.terminate()
        process.wait()


# --- measuring --------------------------------------------------------------------------------------------------------

class Bench:
    def __init__(self, arguments, stack):
        self.arguments = arguments
        self.program = pathlib.Path(__file__).absolute().parent / "bench-support" / "stage-node"
        self.work = pathlib.Path(tempfile.mkdtemp(prefix="slipway-bench-", dir="/var/tmp"))
        stack.callback(shutil.rmtree, self.work, ignore_errors=True)
        self.tiers = pathlib.Path(tempfile.mkdtemp(prefix="slipway-bench-", dir="/dev/shm"))
        stack.callback(shutil.rmtree, self.tiers, ignore_errors=True)
        self.source = self.work / "source"
        (self.source / "train").mkdir(parents=True)
        self.shared = self.work / "shared"
        self.shared.mkdir()
        self.bytes = make_dataset(self.source / "train", arguments.files, arguments.megabytes * 1_000_000)
        self.network = Network(stack, arguments.nodes, arguments.server_mbit, arguments.node_mbit)
        server = FileServer(stack, self.network, self.work, self.source)
        self.mounts = [server.mount(stack, space, number) for number, space in enumerate(self.network.nodes)]
        self._group_files()

    def _group_files(self):
        self.nodes_file = self.work / "nodes"
        self.nodes_file.write_text("".join(f"{address}:7000\n" for address in self.network.addresses))
        self.key = self.work / "key"
        self.key.touch(mode=0o600)
        self.key.write_text(secrets.token_hex(32) + "\n")

    def _forget(self):
        """What the nodes have read before is in no cache of theirs."""
        for mount in self.mounts:
            for file in (mount / "train").iterdir():
                with open(file, "rb") as opened:
                    os.posix_fadvise(opened.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        for tier in self.tiers.iterdir():
            shutil.rmtree(tier)

    def _command(self, side, node):
        # A mount namespace of its own puts a node's mount where all have theirs: the path is part of the plan.
        tier = self.tiers / f"node{node}"
        tier.mkdir(mode=0o700)
        words = [str(self.program), str(self.shared / "train"), str(tier), "--format", "tfrecord"]
        if side != "all":
            words += ["--nodes", str(self.nodes_file), "--node", str(node), "--key", str(self.key)]
        if side == "chain":
            words += ["--readers", "1"]
        script = 'mount --bind "$1" "$2" && shift 2 && exec "$@"'
        return enter(self.network.nodes[node], "unshare", "--mount", "--", "sh", "-c", script, "sh",
                     str(self.mounts[node]), str(self.shared), *words)

    def measure(self, side):
        self._forget()
        commands = [self._command(side, node) for node in range(self.arguments.nodes)]
        before, began = self.network.server_sent(), time.monotonic()
        running = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for command in commands]
        results = [process.communicate()[0] for process in running]
        seconds = time.monotonic() - began
        if any(process.returncode != 0 for process in running):
            sys.exit(f"error: side {side} failed")
        return {"seconds": seconds, "server_bytes": self.network.server_sent() - before,
                "read_bytes": sum(json.loads(result)["read"] for result in results),
                "same": all(self._is_whole(json.loads(result)["directory"]) for result in results)}

    def _is_whole(self, directory):
        return subprocess.run(["diff", "-rq", "-x", "manifest.json", "-x", "records.index",
                               str(self.source / "train"), directory]).returncode == 0


def model_seconds(arguments, size):
    """What the links allow: nothing but bytes through the narrowest of them."""
    server, node = arguments.server_mbit * 1e6 / 8, arguments.node_mbit * 1e6 / 8
    return {"all": max(arguments.nodes * size / server, size / node), "ring": max(size / server, size / node),
            "chain": max(size / server, size / node)}


def document_of(arguments, size, rounds):
    model = model_seconds(arguments, size)
    sides = {}
    for side in SIDES:
        runs = rounds[side]
        sides[side] = {"seconds": statistics.median(one["seconds"] for one in runs),
                       "all_seconds": [one["seconds"] for one in runs], "model_seconds": model[side],
                       "copies_read": statistics.median(one["read_bytes"] for one in runs) / size,
                       "copies_sent_by_server": statistics.median(one["server_bytes"] for one in runs) / size}
    faster = sides["all"]["seconds"] / sides["ring"]["seconds"]
    return {"schema": "slipway.bench.stage-across/1", "file_system": "glusterfs", "nodes": arguments.nodes,
            "bytes": size, "files": arguments.files, "server_mbit": arguments.server_mbit,
            "node_mbit": arguments.node_mbit, "rounds": arguments.rounds, "sides": sides, "ring_faster": faster,
            "all_copies_same": all(one["same"] for runs in rounds.values() for one in runs)}


def print_table(document):
    print(f"{document['nodes']} nodes, {document['bytes'] / 1e6:.0f} MB in {document['files']} TFRecord files, GlusterFS "
          f"behind {document['server_mbit']} Mbit/s, nodes behind {document['node_mbit']} Mbit/s")
    print(f"{'side':8} {'seconds':>8} {'links allow':>12} {'copies read':>12} {'sent by server':>15}")
    for side, values in document["sides"].items():
        print(f"{side:8} {values['seconds']:8.2f} {values['model_seconds']:12.2f} {values['copies_read']:12.3f} "
              f"{values['copies_sent_by_server']:15.3f}")
    print(f"ring against all: {document['ring_faster']:.2f}x faster; copies "
          f"{'are' if document['all_copies_same'] else 'ARE NOT'} those of the source")


def turned(sides, number):
    """The order of a round: each begins with another side."""
    first = number % len(sides)
    return sides[first:] + sides[:first]


def reached(document, at_least):
    # What the server has sent, not what the nodes say of themselves: protocols and read-ahead count.
    once = all(document["sides"][side]["copies_sent_by_server"] <= 1.05 for side in ("ring", "chain"))
    return document["all_copies_same"] and (at_least is None or (once and document["ring_faster"] >= at_least))


def main(line):
    arguments = arguments_of(line)
    reason = obstacle()
    if reason is not None:
        print(f"error: this benchmark cannot run here: {reason}", file=sys.stderr)
        return 3
    with contextlib.ExitStack() as stack:
        bench = Bench(arguments, stack)
        rounds = {side: [] for side in SIDES}
        for number in range(arguments.rounds):
            for side in turned(SIDES, number):
                rounds[side].append(bench.measure(side))
        document = document_of(arguments, bench.bytes, rounds)
    if arguments.json:
        print(json.dumps(document))
    else:
        print_table(document)
    return 0 if reached(document, arguments.at_least) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
