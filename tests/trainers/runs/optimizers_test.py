"""Steps of the optimizers, and averages of weights, against their formulas, written down once more in NumPy."""

import json
import os
import subprocess

import numpy
import pytest

WEIGHTS = numpy.array([[0.5, -1.0, 2.0], [1.5, 0.25, -0.75]])
BIAS = numpy.array([0.5, -0.25])
RATES = [0.1, 0.1, 0.02, 0.3]  # they change, as in a warm-up
RANDOM = numpy.random.default_rng(1)
GRADIENTS = [(RANDOM.normal(size=(2, 3)), RANDOM.normal(size=2)) for _ in RATES]


def answers(**options):
    """Of the real optimizer, after each step."""
    steps = [{"rate": rate, "weights": of_weights.tolist(), "bias": of_bias.tolist()}
             for rate, (of_weights, of_bias) in zip(RATES, GRADIENTS)]
    words = [word for name, value in options.items() for word in (f"--{name}", str(value))]
    answer = subprocess.run([os.environ["SLIPWAY_OPTIMIZER_STEPS"], *words], check=True, capture_output=True, text=True,
                            input=json.dumps({"weights": WEIGHTS.tolist(), "bias": BIAS.tolist(), "steps": steps})).stdout
    return json.loads(answer)


def values_of(step):
    return numpy.array(step["weights"]).reshape(2, 3), numpy.array(step["bias"])


def taken(**options):
    """Weights and bias after each step."""
    return [values_of(step) for step in answers(**options)]


def expected(step_of):
    """The same by `step_of(parameter, gradient, rate, number, memory)`, which returns the new parameter."""
    parameters, memories, results = [WEIGHTS, BIAS], [{}, {}], []
    for number, (rate, gradients) in enumerate(zip(RATES, GRADIENTS), 1):
        parameters = [step_of(parameter, gradient, rate, number, memory)
                      for parameter, gradient, memory in zip(parameters, gradients, memories)]
        results.append(tuple(parameters))
    return results


def assert_same(actual, wanted):
    for (weights, bias), (wanted_weights, wanted_bias) in zip(actual, wanted, strict=True):
        assert weights == pytest.approx(wanted_weights, rel=2e-5)
        assert bias == pytest.approx(wanted_bias, rel=2e-5)


def sgd(momentum, decay, scale=lambda parameter, gradient, rate: 1.0):
    """v = m v + g, w = w - rate v: what v holds does not depend on the rate, so a rate that changes needs no correction."""
    def step(parameter, gradient, rate, _, memory):
        change = (gradient + decay * parameter) * scale(parameter, gradient, rate)
        memory["v"] = momentum * memory.get("v", 0) + change
        return parameter - rate * memory["v"]
    return step


def adam(decay, scale=lambda parameter, gradient, rate: 1.0):
    def step(parameter, gradient, rate, number, memory):
        gradient = (gradient + decay * parameter) * scale(parameter, gradient, rate)
        memory["m"] = 0.9 * memory.get("m", 0) + 0.1 * gradient
        memory["v"] = 0.999 * memory.get("v", 0) + 0.001 * gradient ** 2
        mean, square = memory["m"] / (1 - 0.9 ** number), memory["v"] / (1 - 0.999 ** number)
        return parameter - rate * mean / (numpy.sqrt(square) + 1e-8)
    return step


def lamb(decay):
    def step(parameter, gradient, rate, number, memory):
        memory["m"] = 0.9 * memory.get("m", 0) + 0.1 * gradient
        memory["v"] = 0.999 * memory.get("v", 0) + 0.001 * gradient ** 2
        mean, square = memory["m"] / (1 - 0.9 ** number), memory["v"] / (1 - 0.999 ** number)
        update = mean / (numpy.sqrt(square) + 1e-6) + decay * parameter
        ratio = numpy.linalg.norm(parameter) / numpy.linalg.norm(update) if parameter.ndim > 1 else 1
        return parameter - rate * ratio * update
    return step


def trust(coefficient, decay, clip):
    def scale(parameter, gradient, rate):
        if parameter.ndim == 1:
            return 1.0
        norm = numpy.linalg.norm(parameter)
        local = coefficient * norm / (numpy.linalg.norm(gradient) + decay * norm)
        return min(local / rate, 1.0) if clip else local
    return scale


def test_sgd_with_momentum():
    assert_same(taken(optimizer="sgd", momentum=0.9, weight_decay=0.01), expected(sgd(0.9, 0.01)))


def test_adam():
    assert_same(taken(optimizer="adam", weight_decay=0.01), expected(adam(0.01)))


def test_lamb():
    assert_same(taken(optimizer="lamb", weight_decay=0.01), expected(lamb(0.01)))


@pytest.mark.parametrize("coefficient", [0.02, 10])
def test_larc_never_goes_beyond_the_learning_rate(coefficient):
    assert_same(taken(optimizer="sgd", momentum=0.9, weight_decay=0.01, trust=coefficient),
                expected(sgd(0.9, 0.01, trust(coefficient, 0.01, True))))


def test_lars():
    assert_same(taken(optimizer="sgd", momentum=0.9, weight_decay=0.01, trust=0.02, trust_clip=0),
                expected(sgd(0.9, 0.01, trust(0.02, 0.01, False))))


def test_adam_with_larc():
    assert_same(taken(optimizer="adam", trust=0.02), expected(adam(0, trust(0.02, 0, True))))


@pytest.mark.parametrize("decay", [0.15, 0.999])
def test_weights_are_averaged(decay):
    """Its memory is short at first: 0.1, 2/11, 3/12, 4/13, until it is as long as asked for."""
    averages, wanted = [WEIGHTS, BIAS], []
    steps = answers(optimizer="sgd", ema=decay)
    for number, step in enumerate(steps):
        kept = min(decay, (1 + number) / (10 + number))
        averages = [kept * average + (1 - kept) * new for average, new in zip(averages, values_of(step))]
        wanted.append(tuple(averages))
    assert_same([values_of(step["averaged"]) for step in steps], wanted)
    assert_same([values_of(step) for step in steps], taken(optimizer="sgd"))
