/// The formulas of test functions over numbers; each is named by its author or by what the field calls it.
#pragma once

#include <span>
#include <vector>

namespace slipway::bench {

inline double Square(double x) { return x * x; }

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
double Zakharov(std::span<const double> x);
/// Powell's singular function: the curvature at the minimum 0 is 0 along half of the axes. A multiple of 4 numbers.
double Powell(std::span<const double> x);
/// The minimum is -d (d + 4) (d - 1) / 6 at x_i = i (d + 1 - i), i from 1.
double Trid(std::span<const double> x);
/// `x` mirrored so that no axis stays parallel to a coordinate.
std::vector<double> Mirrored(std::span<const double> x);
/// Axes 1 ... 100 long, mirrored so that none is parallel to a coordinate; the minimum 0 is at 0.
double Ellipsoid(std::span<const double> x);

}  // namespace slipway::bench
