/// What a Gaussian process believes before it has seen anything: a kernel of distances with a length for each axis, a
/// quadratic trend, and noise.
///
/// The trend of two places is 1 + g + q + g^2, with z = 2 * feature, g = sum z z' / axes, q = sum z^2 z'^2 / axes: a
/// constant, a slope and a curvature of each axis as likely as each other, and all products of two axes as likely
/// together as they are. A funnel in ten dimensions so shows its middle after a few dozen trials, long before a kernel
/// that knows only distances sees it.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "ensemble/search/cube/encoding.h"

namespace slipway::ensemble {

/// Coordinates as places in a Euclidean space, so that one distance serves mixed and conditional spaces.
///
/// Each axis gets columns of its own, numbers about as large as 0.5:
///   - continuous and ordered: the distance from the middle of the axis;
///   - categorical: one column a value, so that two different values are 1 apart (Hamming);
///   - an inactive axis lies at the origin of its columns. An axis that can be inactive has one more column, which sets
///     inactive apart from active by a third of the axis or more; two inactive ones are not apart at all.
/// As these are places in a Euclidean space, every kernel that is one there is one here (after Swersky et al. 2014,
/// "Raiders of the lost architecture").
class FeatureMap {
 public:
  explicit FeatureMap(const Encoding& encoding);

  std::size_t axes() const { return blocks_.size(); }
  std::size_t size() const { return axis_of_.size(); }
  /// For each column the axis that it belongs to.
  const std::vector<std::size_t>& axis_of() const { return axis_of_; }
  /// The column that moves with a continuous or ordered axis, and by how much.
  std::size_t column(std::size_t axis) const { return blocks_[axis].begin; }
  double zoom() const { return zoom_; }

  /// The neighbourhood of `centre`, enlarged: it lies at the origin of all continuous and ordered axes, of which
  /// 0.5 / `zoom` reaches from the middle to the border. Categories stay as far apart as they were.
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

/// How smooth functions are taken to be.
enum class Smoothness {
  kTwice,     ///< Matern-5/2: twice differentiable
  kAnalytic,  ///< squared exponential: what is known of a neighbourhood tells what lies far beyond it
};

/// Which axes are taken to act together.
enum class Interactions {
  kAll,    ///< all at once: values are alike where places are near on every axis
  kPairs,  ///< each alone and any two: a sum of functions of one and of two axes, with a hundredth of the variance for
           ///< all others. What has to be learnt grows with the number of pairs, not with a power of the axes.
           ///< Source: Duvenaud, Nickisch, Rasmussen: "Additive Gaussian processes", NeurIPS 2011
};
constexpr std::size_t kFewestAxesForPairs = 3;  ///< two axes are one pair

/// What functions are taken to look like.
struct Shape {
  Smoothness smoothness = Smoothness::kTwice;
  Interactions interactions = Interactions::kAll;
};

/// For values that are standardised (mean 0, variance 1).
struct Kernel {
  std::vector<double> lengths;  ///< one for each axis; 1 = the whole axis
  double variance = 1;
  double trend = 0.01;  ///< variance of the coefficients of a polynomial of degree 2
  double noise = 1e-4;  ///< variance
  Shape shape = {};
};

/// Where a fit starts that knows nothing; `noise` says which of two explanations it tries, a function of short lengths
/// or noise.
Kernel DefaultKernel(std::size_t axes, double noise = 1e-4);
constexpr double kMuchNoise = 0.1;

/// Added to the diagonal beside the noise, so that its Cholesky factor exists.
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
  double loss = 0;  ///< KernelLoss of it, and 3 more of a kernel of pairs
};

/// The most probable kernel given the data and the priors: lengths grow with the square root of the number of axes
/// (Hvarfner, Hellsten, Nardi 2024), noise is small.
///
/// Cost:   about 1.3 * `max_iterations` times n^3 flops for each start; 5 ms an iteration at n = 200. Of kPairs n^2 / 2
///         exponentials for each axis more.
/// Result: a pure function of the arguments, of the best start's shape; pairs of axes have to explain the data e^3
/// times as well as all together, as few results are soon explained by less. Falls back on the first start when nothing
/// can be computed.
FittedKernel FitKernel(const FeatureMap& map, const TrainingSet& data, const std::vector<Kernel>& starts,
                       int max_iterations);

/// The negative logarithm of likelihood times prior, and its gradient by the logarithms of (lengths, variance, trend,
/// noise). Infinite where the matrix has no Cholesky factor.
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
