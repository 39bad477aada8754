"""What a bed will be: names, addresses, ports and folders. Pure: nothing here touches the machine."""

import dataclasses
import pathlib

NAMESPACES, PLAIN = "namespaces", "plain"
DATAWARP, LUA, NO_BUFFER = "datawarp", "lua", "none"

MAX_NODES = 64
MAX_BEDS = 100         # at the same time
FIRST_PORT = 17000     # below the ports that the kernel hands out
PORTS_OF_A_BED = 100
MAX_STATE_PATH = 80    # bytes: the path of a socket inside must fit into 108


@dataclasses.dataclass(frozen=True)
class Settings:
    """What the user asked for."""
    state: pathlib.Path | None         # everything the bed writes is in there; None: a temporary folder
    nodes: int = 4
    cpus: int = 8                      # of each node, whatever the machine has
    threads: int = 1                   # of each core, which CPUs are then
    memory_mib: int = 4096             # of each node, likewise
    gpus: int = 0                      # of each node; files that stand for devices
    mode: str = PLAIN
    burst_buffer: str = NO_BUFFER
    buffer_capacity_mib: int = 1024
    banner: str = ""                   # what everyone who submits is told
    accounting: bool = False           # slurmdbd with a database of its own
    conf: tuple[str, ...] = ()         # NAME=VALUE, laid over our slurm.conf


@dataclasses.dataclass(frozen=True)
class NodePlan:
    name: str
    address: str
    port: int
    folder: pathlib.Path


@dataclasses.dataclass(frozen=True)
class Plan:
    """A bed with its number, which tells its ports and addresses from those of its neighbours."""
    settings: Settings
    number: int
    hostname: str
    address: str | None    # where the name of the machine leads; None when nowhere
    user: str

    @property
    def namespaces(self):
        return self.settings.mode == NAMESPACES

    @property
    def subnet(self):
        """The first three numbers of the addresses of this bed's network."""
        return f"10.77.{self.number}"

    @property
    def login_interface(self):
        return f"slurm-bed{self.number}"

    @property
    def controller_address(self):
        return f"{self.subnet}.254" if self.namespaces else self.address or "127.0.0.1"

    @property
    def controller_port(self):
        return FIRST_PORT + PORTS_OF_A_BED * self.number

    @property
    def database_port(self):
        """Of slurmdbd."""
        return self.controller_port + PORTS_OF_A_BED - 1

    @property
    def nodes(self):
        return tuple(self._node(i) for i in range(1, self.settings.nodes + 1))

    def _node(self, i):
        """In namespaces each node has an address and all the same port, else the other way round."""
        return NodePlan(
            name=f"n{i}",
            address=f"{self.subnet}.{i}" if self.namespaces else self.controller_address,
            port=self.controller_port + (1 if self.namespaces else i),
            folder=self.state / "nodes" / f"n{i}")

    @property
    def state(self):
        return self.settings.state

    @property
    def etc(self):
        return self.state / "etc"

    @property
    def log(self):
        return self.state / "log"

    @property
    def shared(self):
        """The shared file system of the cluster: anyone may write there, all nodes see it under this path."""
        return self.state / "shared"

    @property
    def buffers(self):
        return self.state / "buffers"

    @property
    def munge_socket(self):
        return self.state / "munge" / "socket"

    @property
    def slurm_conf(self):
        return self.etc / "slurm.conf"

    @property
    def environment_file(self):
        return self.state / "environment"

    def environment(self, programs):
        """What clients need. `programs` is the folder of the program testbed."""
        return {"SLURM_CONF": str(self.slurm_conf),
                "SLIPWAY_TESTBED": str(self.state),
                "SLIPWAY_TESTBED_PROGRAM": str(programs / "testbed"),
                "SLIPWAY_TESTBED_SHARED": str(self.shared),
                "SLIPWAY_TESTBED_MUNGE_SOCKET": str(self.munge_socket)}


def ports_of(number, settings):
    """All ports that bed `number` listens on, on the machine's own network."""
    first = FIRST_PORT + PORTS_OF_A_BED * number
    daemons = range(first, first + 1 + (settings.nodes if settings.mode == PLAIN else 0))
    return [*daemons, first + PORTS_OF_A_BED - 1] if settings.accounting else daemons
