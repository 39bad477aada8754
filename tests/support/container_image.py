"""An image for ch-run, made of the machine's own files: a directory with the places that a container needs, into which
a run binds /usr."""

import pathlib

FOLDERS = ("dev", "etc/alternatives", "home", "mnt", "proc", "root", "run", "sys", "tmp", "usr", "var/tmp")
MARK = "etc/inside"
BINDS = ["/usr", "/etc/alternatives"]


def make(image, mount_points=()):
    """Has a file that the machine has not: MARK."""
    image = pathlib.Path(image)
    for folder in FOLDERS + tuple(str(point).lstrip("/") for point in mount_points):
        (image / folder).mkdir(parents=True, exist_ok=True)
    for name in ("bin", "lib", "lib64", "sbin"):
        (image / name).symlink_to(f"usr/{name}")
    for name in ("group", "hosts", "passwd", "resolv.conf"):
        (image / "etc" / name).touch()
    (image / MARK).write_text("in the container\n")
    return image
