"""The accounting of a bed: slurmdbd, and a MariaDB of its own that listens on a socket only."""

import shutil
import subprocess

from bed.errors import CannotHere

PROGRAMS = {"slurmdbd": "slurmdbd", "mariadbd": "mariadb-server", "mariadb-install-db": "mariadb-server"}
PLUGIN = ("accounting_storage_mysql.so", "slurm-wlm-mysql-plugin")


def missing_packages(find, has_plugin):
    missing = {package for program, package in PROGRAMS.items() if find(program) is None}
    return missing if has_plugin(PLUGIN[0]) else missing | {PLUGIN[1]}


def _find(program):
    return shutil.which(program) or f"/usr/sbin/{program}"


def socket(plan):
    return plan.state / "database" / "socket"


def parameters(plan):
    """Lines of slurm.conf."""
    return {"AccountingStorageType": "accounting_storage/slurmdbd", "AccountingStorageHost": plan.hostname,
            "AccountingStoragePort": plan.database_port, "AccountingStoragePass": plan.munge_socket}


def slurmdbd_conf(plan):
    """Slurm insists on its name, its place beside slurm.conf, and on nobody else being able to read it."""
    values = {"DbdHost": plan.hostname, "DbdAddr": plan.controller_address, "DbdPort": plan.database_port, "SlurmUser": plan.user,
              "AuthType": "auth/munge", "AuthInfo": f"socket={plan.munge_socket}",
              "StorageType": "accounting_storage/mysql", "StorageHost": "localhost", "StorageUser": "root",
              "StorageLoc": "accounting", "LogFile": plan.log / "slurmdbd.log", "PidFile": plan.state / "slurmdbd.pid"}
    return "".join(f"{name}={value}\n" for name, value in values.items())


def prepare(plan):
    """An empty database, which belongs to the user of the bed."""
    folder = plan.state / "database"
    folder.mkdir(mode=0o700)
    made = subprocess.run(
        [_find("mariadb-install-db"), "--no-defaults", f"--datadir={folder}/data", f"--user={plan.user}",
         "--auth-root-authentication-method=normal", "--skip-test-db"], capture_output=True, text=True)
    if made.returncode != 0:
        raise CannotHere(f"mariadb-install-db failed: {made.stderr or made.stdout}")


def database_command(plan):
    folder = plan.state / "database"
    return [_find("mariadbd"), "--no-defaults", f"--datadir={folder}/data", f"--socket={socket(plan)}",
            f"--pid-file={folder}/pid", f"--user={plan.user}", "--skip-networking", "--innodb-buffer-pool-size=64M",
            "--innodb-flush-log-at-trx-commit=0"]


def environment(plan):
    """What slurmdbd needs beside its file: the library of MariaDB looks there for the socket."""
    return {"MYSQL_UNIX_PORT": str(socket(plan))}


def enter_cluster(environment):
    """slurmctld will not begin with a database that does not know it."""
    added = subprocess.run(["sacctmgr", "--immediate", "add", "cluster", "testbed"], env=environment, capture_output=True, text=True)
    return added.returncode == 0 or "already exists" in added.stdout + added.stderr
