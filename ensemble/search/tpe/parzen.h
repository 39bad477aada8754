/// A kernel density over a mixed, conditional space: one kernel at each place of a trial, and an even one.
#pragma once

#include <span>
#include <vector>

#include "ensemble/search/cube/activity.h"
#include "ensemble/search/cube/encoding.h"
#include "ensemble/search/numbers/draws.h"

namespace slipway::ensemble {

struct ParzenSettings {
  double bandwidth = 0.2;   ///< in the unit cube; n kernels over d axes have n^(-1/(d+4)) of it (Scott)
  double narrowest = 0.01;  ///< least width of a kernel; on ordered axes also half of its place
  double even_weight = 1;   ///< weight of the even kernel
  double even_part = 0;     ///< even part of each kernel along each numeric axis, beside its normal part
};

/// A kernel is a product over the axes. Continuous axes: a normal truncated to [0, 1]. Ordered axes: the same, summed
/// over each place. Categorical axes: "this value or any".
/// The density of a place is the product, along the axes, of the density of each axis given those before it. An axis
/// learns only from the kernels that have it, and from the even one. Without conditions this is the usual multivariate
/// kernel density. With conditions, the axes of one condition form a group that depends on all axes before it.
/// All densities are relative to the even density over the same active axes.
///
/// Cost: of the constructor n d; of a density n d, and n exponentials for each group.
/// Source: Falkner, Klein, Hutter: "BOHB", ICML 2018; Watanabe: "Tree-structured Parzen estimator: understanding its
///         algorithm components and their roles", arXiv 2304.11127.
class ParzenDensity {
 public:
  /// A kernel for each of `centres` (coordinates of trials, NaN on inactive axes), with its weight.
  /// `encoding` and `activity` must outlive the density.
  ParzenDensity(const Encoding& encoding, const Activity& activity, std::span<const Coordinates* const> centres,
                std::span<const double> weights, const ParzenSettings& settings);

  /// Draws a place: NaN on inactive axes, ordered axes at one of their places.
  Coordinates Draw(Draws& draws) const;
  /// The logarithm of the density at `at`, which has the form that Draw or Encoding give.
  double LogDensity(const Coordinates& at) const;

 private:
  struct AxisKernels {
    double any = 0;                // of a categorical axis: how much of a kernel goes to any value
    double bandwidth = 0;          // of an axis whose kernels are summed over places
    std::uint64_t places = 0;      // of such an axis
    std::vector<double> width;     // of each kernel on other numeric axes
    std::vector<double> centre;    // of each kernel; in places on such axes
    std::vector<double> log_norm;  // of each kernel
    std::vector<double> log_step;  // by distance in places
    std::vector<char> has;         // the kernel has this axis; the last, even one has all
    bool begins_group = false;     // other kernels than at the axis before
  };
  void Prepare(std::size_t i, std::span<const Coordinates* const> centres, const ParzenSettings& settings);
  std::size_t TakeCentres(std::size_t i, std::span<const Coordinates* const> centres);
  void PrepareNormal(std::size_t i, double narrowest);
  void PreparePlaces(AxisKernels& axis) const;
  double Number(const AxisKernels& axis, std::size_t kernel, Draws& draws) const;
  double Place(std::size_t i, std::size_t kernel, Draws& draws) const;
  void Multiply(std::size_t i, double x, std::vector<double>& log_weights) const;
  void MultiplyValues(std::size_t i, double x, std::vector<double>& log_weights) const;
  void MultiplyPlaces(std::size_t i, double x, std::vector<double>& log_weights) const;
  void MultiplyNormal(std::size_t i, double x, std::vector<double>& log_weights) const;
  double WithEvenPart(double log_density) const;
  double LogSum(const std::vector<char>& among, const std::vector<double>& log_weights) const;

  const Encoding& encoding_;
  const Activity& activity_;
  double even_part_;
  double log_even_part_;
  std::size_t kernels_;  // with the even one, which is the last
  std::vector<double> log_weights_;
  std::vector<AxisKernels> axes_;
};

}  // namespace slipway::ensemble
