"""The best that a linear model does, by ridge regression: what a network has to beat."""

import numpy


def linear_scores(inputs, targets, test_inputs, penalty):
    """Predictions for the test set. `penalty` in units of the mean square of the inputs' features."""
    mean = inputs.mean(0)
    centred = inputs - mean
    gram = centred @ centred.T
    weights = numpy.linalg.solve(gram + penalty * numpy.trace(gram) / len(gram) * numpy.eye(len(gram)),
                                 targets - targets.mean(0))
    return (test_inputs - mean) @ (centred.T @ weights) + targets.mean(0)


def area_under_roc(scores, labels):
    """How often a signal event has the larger score."""
    ranks = numpy.empty(len(scores))
    ranks[numpy.argsort(scores)] = numpy.arange(1, len(scores) + 1)
    signal = labels == 1
    pairs = signal.sum() * (~signal).sum()
    return (ranks[signal].sum() - signal.sum() * (signal.sum() + 1) / 2) / pairs


def rows(array):
    return numpy.log1p(array.reshape(len(array), -1)).astype(float)


def best_linear_auc(train, test):
    (images, labels), (test_images, test_labels) = train, test
    return max(area_under_roc(linear_scores(rows(images), labels.astype(float), rows(test_images), penalty), test_labels)
               for penalty in (0.01, 0.1, 1, 10))


def best_linear_mae(train, test):
    (volumes, targets), (test_volumes, test_targets) = train, test
    return min(numpy.abs(linear_scores(rows(volumes), targets.astype(float), rows(test_volumes), penalty)
                         - test_targets).mean() for penalty in (0.01, 0.1, 1, 10, 100))


def best_linear_accuracy(train, test, classes):
    """Of one score for each class. `train` and `test`: pictures as rows of numbers, labels from 0."""
    (pictures, labels), (test_pictures, test_labels) = train, test
    wanted = numpy.eye(classes)[labels]
    return max((linear_scores(pictures, wanted, test_pictures, penalty).argmax(1) == test_labels).mean()
               for penalty in (0.01, 0.1, 1, 10, 100))
