"""What comm.json says of GPU memory, against what was asked for. It needs neither a GPU nor PyTorch.

`waits` is the value of SLIPWAY_GPU_WAIT. `obstacles` are those of on_gpu.obstacles(): "direct" and "events" -> why this
machine cannot do that, or nothing. Errors of all: AssertionError where the library did not do what it could; Refused
where the machine cannot.
"""

SMALLEST, LARGEST = 4096, 16 << 20  # bytes of the allreduces that the library always measures


class Refused(Exception):
    """A check has no result, because this machine cannot do what it is about. The text is the reason."""


def share(gpus):
    """Whether two ranks have the same GPU. `gpus`: of each rank."""
    return len(set(gpus)) < len(gpus)


def number_of(gpus):
    """In words. `gpus`: of each rank."""
    count = len(set(gpus))
    return f"{count} GPU{'s' if count > 1 else ''}"


def require_waits(found, waits, obstacles):
    """`found`: a team by `direct`, or an entry of gpu_allreduce in which a size is `direct`."""
    if found.get("waits") == waits:
        return
    if waits == "events" and found.get("waits") == "cpu" and obstacles["events"]:
        raise Refused(f"GPUs do not wait for each other by events: {obstacles['events']}")
    raise AssertionError(f"SLIPWAY_GPU_WAIT={waits}, but {found}")


def require_direct(report, names, waits, obstacles):
    """These teams, whose setting is gpu_exchange: direct."""
    if obstacles["direct"]:
        raise Refused(f"GPUs cannot add up: {obstacles['direct']}")
    teams = {team["team"]: team for team in report["teams"]}
    for name in names:
        team = teams.get(name, {})
        assert team.get("way") == "direct", (name, report["teams"])
        require_waits(team, waits, obstacles)


def require_allreduces(report, ranks, waits, obstacles):
    """The one group of a job whose single allreduces choose their way by times."""
    (group,) = report["gpu_allreduce"]
    assert group["ranks"] == ranks, group
    if "without_direct" in group:
        assert obstacles["direct"], group
        raise Refused(f"GPUs cannot add up: {obstacles['direct']}")
    measured = group["measured_ms"]
    assert measured and (measured[0]["bytes"], measured[-1]["bytes"]) == (SMALLEST, LARGEST), group
    assert all(each["staged"] > 0 and each["direct"] > 0 for each in measured), group
    assert group["ways"][-1]["up_to_bytes"] is None, group
    if any(each["way"] == "direct" for each in group["ways"] + group.get("ways_of_16_bits", [])):
        return require_waits(group, waits, obstacles)
    assert "waits" not in group, group
    if waits == "events":
        raise Refused("no size of allreduce was faster by the GPUs, so none was waited for by events")


def require_nccl(report, gpus):
    """Teams and single allreduces went by NCCL. Where ranks share a GPU, no allreduce did. `gpus`: of each rank."""
    groups = report.get("collectives", {}).get("groups", [])  # missing where there is one rank
    ways = {call["way"] for group in groups for call in group["calls"] if call["call"] == "slipway_allreduce"}
    if share(gpus):
        assert ways and "nccl" not in ways, ways
        return
    assert report["teams"] and all(team["way"] == "nccl" for team in report["teams"]), report["teams"]
    assert "nccl" in ways or len(gpus) == 1, ways
