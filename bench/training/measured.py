"""Figures of sides that take turns, and what they are held against."""

import statistics


def in_turns(sides, rounds):
    """Side -> the figures of its rounds. No side always comes after the same other one: every other round goes
    backwards."""
    figures = {side: [] for side in sides}
    for number in range(rounds):
        for side in list(sides)[::1 if number % 2 == 0 else -1]:
            figures[side].append(sides[side]())
    return figures


def median(figures, name):
    return statistics.median(figure[name] for figure in figures)


def cpu_of_image(figures):
    return statistics.median(figure["cpu_s"] / figure["images"] for figure in figures)


def row(part, side, figures):
    rates = [figure["per_second"] for figure in figures]
    return {"part": part, "side": side, "per_second": statistics.median(rates), "min": min(rates), "max": max(rates),
            "cpu_s_per_1000": 1000 * cpu_of_image(figures)}


def goal(what, value, at_least=None, at_most=None):
    """Without a limit it is a figure to know the others by, and nothing to reach."""
    reached = None
    if at_least is not None:
        reached = value >= at_least
    if at_most is not None:
        reached = value <= at_most
    return {"what": what, "value": value, "at_least": at_least, "at_most": at_most, "reached": reached}


def verdict(goal_):
    if goal_["reached"] is None:
        return ""
    wanted = f"at least {goal_['at_least']}" if goal_["at_least"] is not None else f"at most {goal_['at_most']}"
    return f"{wanted}: {'reached' if goal_['reached'] else 'missed'}"
