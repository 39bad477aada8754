/// The formulas of test functions over numbers; each is named by its author or by what the field calls it.
#pragma once

#include <span>

namespace slipway::bench {

double Branin(std::span<const double> x);
double Hartmann3(std::span<const double> x);
double Hartmann6(std::span<const double> x);
double Ackley(std::span<const double> x);
double Rosenbrock(std::span<const double> x);
double Levy(std::span<const double> x);
double Rastrigin(std::span<const double> x);
double Michalewicz(std::span<const double> x);
double Griewank(std::span<const double> x);
double StyblinskiTang(std::span<const double> x);
double Schwefel(std::span<const double> x);
double DixonPrice(std::span<const double> x);
/// Axes 1 ... 100 long, mirrored so that none is parallel to a coordinate; the minimum 0 is at 0.
double Ellipsoid(std::span<const double> x);

}  // namespace slipway::bench
