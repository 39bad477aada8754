/// The prior of a Gaussian process: a kernel of distances with a length for each axis, a quadratic trend, and noise.
///
/// The trend of two places is 1 + g + q + g^2. Here z = 2 * feature, g = sum z z' / axes, q = sum z^2 z'^2 / axes.
/// Constant, slopes and curvatures have equal variance, and so have all products of two axes together. So the model
/// finds the middle of a funnel in ten dimensions after a few dozen trials, long before a kernel of distances alone.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "ensemble/search/cube/encoding.h"

namespace slipway::ensemble {

/// Maps coordinates into a Euclidean space: one distance then serves mixed and conditional spaces.
///
/// Each axis has its own columns, with numbers of about 0.5:
///   - Continuous and ordered: the distance from the middle of the axis.
///   - Categorical: one column for each value. Two different values have the distance 1 (Hamming).
///   - Inactive: the origin of its columns. An axis that can be inactive has one more column: it separates inactive
///     from active by a third of the axis or more. Two inactive axes have the distance 0.
/// Every kernel for Euclidean spaces is valid here (after Swersky et al. 2014, "Raiders of the lost architecture").
class FeatureMap {
 public:
  explicit FeatureMap(const Encoding& encoding);

  std::size_t axes() const { return blocks_.size(); }
  std::size_t size() const { return axis_of_.size(); }
  /// The axis of each column.
  const std::vector<std::size_t>& axis_of() const { return axis_of_; }
  /// The column of a continuous or ordered axis, and the factor from its coordinate.
  std::size_t column(std::size_t axis) const { return blocks_[axis].begin; }
  double zoom() const { return zoom_; }

  /// The neighbourhood of `centre`, enlarged by `zoom`. The centre is the origin of all continuous and ordered axes; a
  /// distance of 0.5 / `zoom` on an axis becomes 0.5. Distances of categories stay the same.
  FeatureMap Focused(const Coordinates& centre, double zoom) const;

  /// `features` has size() members.
  void Write(const Coordinates& at, std::span<double> features) const;

 private:
  struct Block {
    AxisKind kind;
    std::size_t begin;   // its first column
    std::size_t values;  // columns of a categorical axis
    bool can_be_inactive;
    double middle;
  };
  std::vector<Block> blocks_;
  std::vector<std::size_t> axis_of_;
  double zoom_ = 1;
};

/// The assumed smoothness of functions.
enum class Smoothness {
  kTwice,     ///< Matern-5/2: twice differentiable
  kAnalytic,  ///< squared exponential: a neighbourhood determines the function far beyond it
};

/// The assumed interactions of axes.
enum class Interactions {
  kAll,    ///< all together: values are alike where places are near on every axis
  kPairs,  ///< a sum of functions of one and of two axes, with a hundredth of the variance for all others. The number
           ///< of results needed grows with the number of pairs, not with a power of the axes.
           ///< Source: Duvenaud, Nickisch, Rasmussen: "Additive Gaussian processes", NeurIPS 2011
};
constexpr std::size_t kFewestAxesForPairs = 3;  ///< two axes are one pair

/// The assumed shape of functions.
struct Shape {
  Smoothness smoothness = Smoothness::kTwice;
  Interactions interactions = Interactions::kAll;
};

/// The parameters of a kernel, for standardised values (mean 0, variance 1).
struct Kernel {
  std::vector<double> lengths;  ///< one for each axis; 1 = the whole axis
  double variance = 1;
  double trend = 0.01;  ///< variance of the coefficients of a polynomial of degree 2
  double noise = 1e-4;  ///< variance
  Shape shape = {};
};

/// The start of a fit without knowledge. `noise` selects the explanation to try first: small for a function with short
/// lengths, kMuchNoise for noise.
Kernel DefaultKernel(std::size_t axes, double noise = 1e-4);
constexpr double kMuchNoise = 0.1;

/// A number to add to the diagonal beside the noise, so the Cholesky factor exists.
double Jitter(const Kernel& kernel);

/// Places with values, the features of place i in column i.
struct TrainingSet {
  std::size_t features = 0;
  std::vector<double> places;  ///< features * size() numbers
  std::vector<double> values;

  std::size_t size() const { return values.size(); }
  void Add(const FeatureMap& map, const Coordinates& at, double value);
};

struct FittedKernel {
  Kernel kernel;
  double loss = 0;  ///< its KernelLoss; 3 more for a kernel of pairs
};

/// The most probable kernel given the data and the priors. By the priors, lengths grow with the square root of the
/// number of axes (Hvarfner, Hellsten, Nardi 2024), and noise is small.
///
/// Cost:   about 1.3 * `max_iterations` times n^3 flops for each start; 5 ms an iteration at n = 200. For kPairs,
///         n^2 / 2 more exponentials for each axis.
/// Result: a pure function of the arguments. It has the shape of the best start. Pairs of axes must explain the data
///         e^3 times as well as all axes together, because simpler models easily explain few results. If nothing can be
///         computed, it is the first start.
FittedKernel FitKernel(const FeatureMap& map, const TrainingSet& data, const std::vector<Kernel>& starts,
                       int max_iterations);

/// The negative logarithm of likelihood times prior, with its gradient by the logarithms of (lengths, variance, trend,
/// noise). Infinite if the matrix has no Cholesky factor.
class KernelLoss {
 public:
  KernelLoss(const FeatureMap& map, const TrainingSet& data);
  ~KernelLoss();
  double operator()(std::span<const double> logs, std::span<double> gradient, const Shape& shape = {}) const;

 private:
  struct Pairs;
  std::unique_ptr<const Pairs> pairs_;
};

}  // namespace slipway::ensemble
