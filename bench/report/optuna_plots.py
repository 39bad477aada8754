"""Optuna's plots of the trials of a document `slipway.view/1`, as HTML files that need no network."""

import importlib.util
import time

from in_browser import READY

CONTOUR_TRIALS = 2000  # of more, Optuna's contour is left out: it takes memory for the square of their number


def has_optuna():
    return bool(importlib.util.find_spec("optuna") and importlib.util.find_spec("plotly"))


def plots_of(study):
    plots = ["parallel_coordinate", "optimization_history", "slice"]
    return plots + ["contour"] if len(study.trials) <= CONTOUR_TRIALS else plots


def study_of(run):
    """The complete trials of the run, in the memory of this process."""
    import optuna
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    trials = run["trials"]
    names = [each["name"] for each in run["space"]]
    space = {each["name"]: optuna.distributions.FloatDistribution(each["low"], each["high"]) for each in run["space"]}
    study = optuna.create_study(direction=run["objectives"][0]["goal"])
    study.add_trials([
        optuna.trial.create_trial(value=trials["value"][0][row], distributions=space,
                                  params={name: trials["parameters"][name][row] for name in names})
        for row, state in enumerate(trials["state"]) if state == "complete"])
    return study


def versions():
    import optuna
    import plotly
    return {"optuna": optuna.__version__, "plotly": plotly.__version__}


def write(study, plot, path):
    """Seconds to make the figure and to write it, and bytes of the file: all, and without Plotly's library."""
    from optuna import visualization
    from plotly.offline import get_plotlyjs
    begun = time.monotonic()
    chosen = {"params": sorted(study.best_params)[:2]} if plot == "contour" else {}
    figure = getattr(visualization, f"plot_{plot}")(study, **chosen)
    figure.write_html(path, include_plotlyjs=True, post_script=f"performance.mark('{READY}')")
    seconds = time.monotonic() - begun
    size = path.stat().st_size
    return {"write_s": seconds, "bytes": size, "own_bytes": size - len(get_plotlyjs().encode())}


AXIS = """
const axis = document.querySelector('.parcoords .axis-brush .background')?.getBoundingClientRect();
return axis ? [axis.left + axis.width / 2, axis.top, axis.height] : null;
"""


def frames_of_brush(browser):
    """Of the parallel coordinates: a range along the first axis. None: they were not drawn."""
    place = browser.run(AXIS)
    if place is None:
        return None
    x, top, height = place
    return browser.frames_of_drag(x, top + 0.2 * height, 0.6 * height)
