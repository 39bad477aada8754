/// Covariance matrix adaptation: a normal distribution that adapts to better points.
#pragma once

#include <span>
#include <vector>

#include "ensemble/search/cube/places.h"
#include "ensemble/search/numbers/draws.h"

namespace slipway::ensemble {

/// Constants of a run: they follow from the number of axes and the population.
struct CovarianceAdaptationRates {
  CovarianceAdaptationRates(std::size_t axes, std::size_t population);

  std::vector<double> weights;  ///< of the points of a generation, best first; the worse half has negative ones
  std::size_t parents;          ///< number of positive weights; these sum to 1
  double effective;             ///< the variance-effective number of parents
  double step_path;             ///< c_sigma
  double damping;               ///< d_sigma
  double shape_path;            ///< c_c
  double rank_one;              ///< c_1
  double rank_many;             ///< c_mu
};

/// A value: copies are independent.
///
/// Points may come from other methods, or from an older state of the same run. Steps that are too long for this
/// distribution are shortened (injection, Hansen 2011, arXiv 1110.4181).
/// Cost:   of a draw d^2; of a generation `population` d^2, and in some generations d^3 for the axes of the ellipsoid.
/// Source: Hansen: "The CMA evolution strategy: a tutorial", arXiv 1604.00772 (2016), with negative weights.
///         Margin: Hamano, Saito, Nomura, Shirakawa: "CMA-ES with margin", GECCO 2022.
class CovarianceAdaptation {
 public:
  /// `mean` is not empty, `population` at least 2, `sigma` > 0.
  CovarianceAdaptation(std::vector<double> mean, double sigma, std::size_t population);

  std::vector<double> Draw(Draws& draws) const;
  /// Learns a generation: `population` points, best first.
  void Update(std::span<const std::vector<double>> ranked);
  /// For an axis `i` with numbers that are rounded to values: keeps the probability to leave the part around the mean
  /// at least `margin`.
  void KeepMargin(std::size_t i, const Part& part, double margin);

  std::size_t axes() const { return mean_.size(); }
  std::size_t population() const { return rates_.weights.size(); }
  const CovarianceAdaptationRates& rates() const { return rates_; }
  const std::vector<double>& mean() const { return mean_; }
  /// The standard deviation along axis `i`.
  double Deviation(std::size_t i) const;
  /// Whether steps are too small for double precision, or the ellipsoid is too long.
  bool is_spent() const;

 private:
  std::vector<double> Step(const std::vector<double>& point) const;
  std::vector<double> Whitened(const std::vector<double>& step) const;
  void MovePaths(const std::vector<double>& shift);
  void Reshape(const std::vector<std::vector<double>>& steps);
  void Decompose();

  CovarianceAdaptationRates rates_;
  std::vector<double> mean_;
  double sigma_;
  std::vector<double> scale_;       // of each axis; changed by KeepMargin
  std::vector<double> step_path_;   // p_sigma
  std::vector<double> shape_path_;  // p_c
  std::vector<double> covariance_;  // d x d; C = basis diag(length^2) basis^T
  std::vector<double> basis_;       // d x d, a column for each axis of the ellipsoid
  std::vector<double> length_;
  bool long_path_ = false;  // the step size grows so fast that p_c has to wait
  std::size_t generation_ = 0;
  std::size_t decomposed_ = 0;  // in which generation
};

}  // namespace slipway::ensemble
