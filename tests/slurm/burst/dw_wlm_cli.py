#!/usr/bin/python3
"""A stand-in for Cray's dw_wlm_cli, which Slurm's plugin burst_buffer/datawarp calls: its buffers are folders.

What it prints and how it fails is what the plugin of Slurm 22.05 reads. The hook of burst_buffer/lua calls it too."""

import argparse
import json
import pathlib
import shutil
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

import directives  # noqa: E402: the line above says where they are
import faults  # noqa: E402
import store  # noqa: E402
import transfers  # noqa: E402


def pools(buffers, _options):
    used = sum(buffer.size for buffer in buffers.buffers())
    _print({"pools": [{"id": buffers.pool, "units": "bytes", "granularity": store.GRANULARITY,
                       "quantity": buffers.capacity // store.GRANULARITY,
                       "free": (buffers.capacity - used) // store.GRANULARITY}]})


def show_sessions(buffers, _options):
    """After a restart of slurmctld, buffers whose token is the id of no job are torn down on the strength of this."""
    _print({"sessions": [{"id": buffer.record["id"], "token": buffer.token, "owner": buffer.record["uid"],
                          "creator": buffer.record["creator"], "created": buffer.record["created"]}
                         for buffer in buffers.buffers()]})


def show_instances(buffers, _options):
    _print({"instances": [{"id": buffer.record["id"], "capacity": {"bytes": buffer.size, "nodes": 1},
                           "links": {"session": buffer.record["id"]}} for buffer in buffers.buffers()]})


def show_configurations(buffers, _options):
    _print({"configurations": [{"id": buffer.record["id"], "links": {"instance": buffer.record["id"]}}
                               for buffer in buffers.buffers()]})


def job_process(_buffers, options):
    _request(options)


def setup(buffers, options):
    pool, _, size = options.capacity.partition(":")
    if pool != buffers.pool:
        raise store.StoreError(f"no pool {pool}; there is {buffers.pool}")
    buffers.create(options.token, options.user, options.groupid, _bytes(size), options.caller)


def data_in(buffers, options):
    _transfer_all(buffers, options, "stage_in")


def data_out(buffers, options):
    _transfer_all(buffers, options, "stage_out")


def real_size(buffers, options):
    _print({"units": "bytes", "capacity": buffers.find(options.token).size})


def paths(buffers, options):
    """Writes the variables that the job finds its buffers by."""
    lines = [f"{variable}={buffer.data}\n" for variable, buffer in _buffers_of(buffers, options).items()]
    pathlib.Path(options.pathfile).write_text("".join(lines))


def pre_run(buffers, options):
    _buffers_of(buffers, options)


def post_run(buffers, options):
    _buffers_of(buffers, options)


def teardown(buffers, options):
    buffers.find(options.token).destroy()


def create_persistent(buffers, options):
    """The plugin's words differ here: -t NAME -u UID -C POOL:BYTES."""
    pool, _, size = options.capacity.partition(":")
    if pool != buffers.pool:
        raise store.StoreError(f"no pool {pool}; there is {buffers.pool}")
    buffers.create(options.token, options.user, -1, _bytes(size), options.caller)
    print("created")


def _request(options):
    return directives.read(pathlib.Path(options.job).read_bytes(), options.dialect)


def _buffers_of(buffers, options):
    """{variable: buffer} of all buffers that a job may use."""
    request = _request(options)
    found = {directives.PERSISTENT_VARIABLE + name: buffers.find(name) for name in request.persistent}
    if request.job_buffer:
        found[directives.JOB_VARIABLE[options.dialect]] = buffers.find(options.token)
    return found


def _transfer_all(buffers, options, direction):
    """As the job's owner, whom `setup` was told."""
    found, ordered = _buffers_of(buffers, options), getattr(_request(options), direction)
    owner = buffers.find(options.token).record
    ordered_faults = faults.Faults(buffers.folder)  # now: later the process may be the user's
    transfers.become(owner["uid"], owner["gid"])
    for transfer in ordered:
        getattr(transfers, direction)(transfer, found[transfer.variable], ordered_faults)


def _bytes(text):
    """Slurm writes sizes as a number with or without a binary unit: 960MiB."""
    units = {"": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40, "PiB": 1 << 50}
    digits = text.rstrip("KMGTPiB")
    return int(digits) * units[text[len(digits):]]


def _print(answer):
    print(json.dumps(answer))


FUNCTIONS = {function.__name__: function for function in (
    pools, show_sessions, show_instances, show_configurations, job_process, setup, data_in, data_out, real_size, paths,
    pre_run, post_run, teardown, create_persistent)}


def _parser():
    parser = argparse.ArgumentParser(prog="dw_wlm_cli", allow_abbrev=False)
    parser.add_argument("--store", required=True, help="the folder of the buffers")
    parser.add_argument("--dialect", choices=directives.JOB_VARIABLE, required=True)
    parser.add_argument("--function", choices=FUNCTIONS, required=True)
    parser.add_argument("-t", "--token")
    parser.add_argument("-j", "--job", help="the job's script")
    parser.add_argument("-c", "--caller", default="SLURM")
    parser.add_argument("-u", "--user", type=int)
    parser.add_argument("-g", "--groupid", type=int)
    parser.add_argument("-C", "--capacity", help="POOL:BYTES")
    parser.add_argument("-a", "--access-mode")
    parser.add_argument("-T", "--type")
    parser.add_argument("--pathfile", help="where to write NAME=VALUE lines for the job's environment")
    parser.add_argument("--nodehostnamefile", help="names of the job's nodes; all see the buffers already")
    parser.add_argument("--hurry", action="store_true", help="without staging out, which is Slurm's to ask for")
    return parser


def main(arguments):
    options = _parser().parse_args(arguments)
    buffers = store.Store(options.store)
    reason = None
    with buffers.open_log() as log:  # now: later the process may be the user's
        try:
            FUNCTIONS[options.function](buffers, options)
        except OSError as error:
            reason = f"{error.filename}: {error.strerror}"
        except (store.StoreError, directives.DirectiveError, shutil.Error) as error:
            reason = str(error)
        print(time.strftime("%H:%M:%S"), *arguments, "->", reason or "done", file=log)
    if reason is not None:
        print(reason, file=sys.stderr)  # Slurm shows it to the user
    return 0 if reason is None else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
