#include "ensemble/search/tpe/parzen.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "ensemble/search/cube/places.h"
#include "ensemble/search/numbers/normal.h"

namespace slipway::ensemble {
namespace {

constexpr double kLogNothing = -700;

double SafeLog(double x) { return x > 0 ? std::max(std::log(x), kLogNothing) : kLogNothing; }

double Scott(std::size_t kernels, std::size_t axes) {
  return std::pow(static_cast<double>(kernels), -1.0 / (static_cast<double>(axes) + 4));
}

}  // namespace

ParzenDensity::ParzenDensity(const Encoding& encoding, const Activity& activity,
                             std::span<const Coordinates* const> centres, std::span<const double> weights,
                             const ParzenSettings& settings)
    : encoding_(encoding),
      activity_(activity),
      even_part_(settings.even_part),
      log_even_part_(SafeLog(settings.even_part)),
      kernels_(centres.size() + 1),
      axes_(encoding.axes().size()) {
  for (const double weight : weights) log_weights_.push_back(SafeLog(weight));
  log_weights_.push_back(SafeLog(settings.even_weight));
  for (std::size_t i = 0; i < axes_.size(); ++i) Prepare(i, centres, settings);
}

/// Returns the number of kernels that have the axis.
std::size_t ParzenDensity::TakeCentres(std::size_t i, std::span<const Coordinates* const> centres) {
  auto& axis = axes_[i];
  axis.has.assign(kernels_, 1);
  axis.centre.assign(kernels_, 0.5);
  std::size_t count = 1;
  for (std::size_t k = 0; k < centres.size(); ++k) {
    const double at = (*centres[k])[i];
    axis.has[k] = std::isnan(at) ? 0 : 1;
    if (axis.has[k] == 0) continue;
    axis.centre[k] = at;
    ++count;
  }
  axis.begins_group = i == 0 || axis.has != axes_[i - 1].has;
  return count;
}

void ParzenDensity::Prepare(std::size_t i, std::span<const Coordinates* const> centres,
                            const ParzenSettings& settings) {
  const std::size_t count = TakeCentres(i, centres);
  auto& axis = axes_[i];
  const auto& shape = encoding_.axis(i);
  const double values = static_cast<double>(shape.values);
  const double width = std::max(settings.bandwidth * Scott(count, axes_.size()), settings.narrowest);
  if (shape.kind == AxisKind::kCategorical) {
    axis.any = values / (values + static_cast<double>(count));
  } else if (HasEvenParts(encoding_, i)) {
    axis.places = shape.values;
    axis.bandwidth = std::max(width, 0.5 / values);
    PreparePlaces(axis);
  } else {
    PrepareNormal(i, width);
  }
}

void ParzenDensity::PrepareNormal(std::size_t i, double narrowest) {
  auto& axis = axes_[i];
  const bool has_parts = HasParts(encoding_, i);
  axis.width.assign(kernels_, narrowest);
  axis.log_norm.resize(kernels_);
  for (std::size_t k = 0; k < kernels_; ++k) {
    double& width = axis.width[k];
    if (has_parts) {
      const auto part = PartAround(encoding_, i, axis.centre[k]);
      width = std::max(width, 0.5 * (part.high - part.low));
    }
    const double mass = NormalMass(-axis.centre[k] / width, (1 - axis.centre[k]) / width);
    axis.log_norm[k] = std::log(mass * width * std::sqrt(2 * std::numbers::pi));
  }
}

void ParzenDensity::PreparePlaces(AxisKernels& axis) const {
  const double places = static_cast<double>(axis.places);
  const double width = places * axis.bandwidth;
  for (std::uint64_t step = 0; step < axis.places; ++step) {
    const double distance = static_cast<double>(step);
    axis.log_step.push_back(SafeLog(NormalMass((distance - 0.5) / width, (distance + 0.5) / width)));
  }
  axis.log_norm.resize(kernels_);
  for (std::size_t k = 0; k < kernels_; ++k) {
    const double unit = axis.centre[k];
    axis.centre[k] = std::min(std::floor(unit * places), places - 1);
    const double middle = (axis.centre[k] + 0.5) / places;
    axis.log_norm[k] = std::log(NormalMass(-middle / axis.bandwidth, (1 - middle) / axis.bandwidth) / places);
  }
}

/// A number of a kernel's normal distribution, or of its even part.
double ParzenDensity::Number(const AxisKernels& axis, std::size_t kernel, Draws& draws) const {
  const double unit = draws.Unit();
  if (kernel + 1 == kernels_ || draws.Unit() < even_part_) return unit;
  const double places = static_cast<double>(axis.places);
  const double middle = axis.places == 0 ? axis.centre[kernel] : (axis.centre[kernel] + 0.5) / places;
  const double width = axis.places == 0 ? axis.width[kernel] : axis.bandwidth;
  return middle + width * TruncatedNormalQuantile(-middle / width, (1 - middle) / width, unit);
}

double ParzenDensity::Place(std::size_t i, std::size_t kernel, Draws& draws) const {
  const auto& shape = encoding_.axis(i);
  const auto& axis = axes_[i];
  if (shape.kind == AxisKind::kCategorical) {
    const double any = static_cast<double>(draws.Below(shape.values));
    return kernel + 1 == kernels_ || draws.Unit() < axis.any ? any : axis.centre[kernel];
  }
  const double at = std::clamp(Number(axis, kernel, draws), 0.0, 1.0);
  if (axis.places != 0) {
    const double places = static_cast<double>(axis.places);
    return (std::min(std::floor(at * places), places - 1) + 0.5) / places;
  }
  return HasParts(encoding_, i) ? PartAround(encoding_, i, at).place : at;
}

/// Multiplies the weight of each kernel that has the axis by its density at `x`; the even one's is 1.
void ParzenDensity::Multiply(std::size_t i, double x, std::vector<double>& log_weights) const {
  if (encoding_.axis(i).kind == AxisKind::kCategorical) return MultiplyValues(i, x, log_weights);
  if (axes_[i].places != 0) return MultiplyPlaces(i, x, log_weights);
  MultiplyNormal(i, x, log_weights);
}

void ParzenDensity::MultiplyValues(std::size_t i, double x, std::vector<double>& log_weights) const {
  const auto& axis = axes_[i];
  const double values = static_cast<double>(encoding_.axis(i).values);
  const double other = std::log(axis.any);
  const double same = std::log(axis.any + (1 - axis.any) * values);
  for (std::size_t k = 0; k + 1 < kernels_; ++k) {
    if (axis.has[k]) log_weights[k] += axis.centre[k] == x ? same : other;
  }
}

void ParzenDensity::MultiplyPlaces(std::size_t i, double x, std::vector<double>& log_weights) const {
  const auto& axis = axes_[i];
  const double places = static_cast<double>(axis.places);
  const double at = std::clamp(std::floor(x * places), 0.0, places - 1);
  for (std::size_t k = 0; k + 1 < kernels_; ++k) {
    const auto step = static_cast<std::size_t>(std::abs(at - axis.centre[k]));
    if (axis.has[k]) log_weights[k] += WithEvenPart(axis.log_step[step] - axis.log_norm[k]);
  }
}

void ParzenDensity::MultiplyNormal(std::size_t i, double x, std::vector<double>& log_weights) const {
  const auto& axis = axes_[i];
  for (std::size_t k = 0; k + 1 < kernels_; ++k) {
    const double u = (x - axis.centre[k]) / axis.width[k];
    const double log_density = -0.5 * u * u - axis.log_norm[k];
    log_weights[k] += axis.has[k] ? WithEvenPart(log_density) : 0;
  }
}

double ParzenDensity::WithEvenPart(double log_density) const {
  if (even_part_ <= 0) return log_density;
  if (log_density < log_even_part_ - 35) return log_even_part_;  // so small a part is lost in the sum
  return std::log(even_part_ + (1 - even_part_) * std::exp(log_density));
}

double ParzenDensity::LogSum(const std::vector<char>& among, const std::vector<double>& log_weights) const {
  double highest = log_weights[kernels_ - 1];
  for (std::size_t k = 0; k < kernels_; ++k) {
    if (among[k]) highest = std::max(highest, log_weights[k]);
  }
  double sum = 0;
  for (std::size_t k = 0; k < kernels_; ++k) {
    // Terms 40 below the highest are lost in the sum; most kernels are among them.
    if (among[k] && log_weights[k] > highest - 40) sum += std::exp(log_weights[k] - highest);
  }
  return highest + std::log(sum);
}

double ParzenDensity::LogDensity(const Coordinates& at) const {
  auto log_weights = log_weights_;
  double log_density = 0;
  for (std::size_t i = 0; i < axes_.size();) {
    const auto& group = axes_[i].has;
    const double before = LogSum(group, log_weights);
    bool has_part = false;
    for (bool same = true; same; same = ++i < axes_.size() && !axes_[i].begins_group) {
      if (std::isnan(at[i])) continue;
      Multiply(i, at[i], log_weights);
      has_part = true;
    }
    if (has_part) log_density += LogSum(group, log_weights) - before;
  }
  return log_density;
}

Coordinates ParzenDensity::Draw(Draws& draws) const {
  Coordinates at(axes_.size(), std::numeric_limits<double>::quiet_NaN());
  auto log_weights = log_weights_;
  std::vector<double> weights(kernels_);
  std::size_t kernel = kernels_ - 1;
  for (std::size_t i = 0; i < axes_.size(); ++i) {
    const auto& axis = axes_[i];
    if (axis.begins_group) {
      const double all = LogSum(axis.has, log_weights);
      for (std::size_t k = 0; k < kernels_; ++k) weights[k] = axis.has[k] ? std::exp(log_weights[k] - all) : 0;
      kernel = draws.Weighted(weights);
    }
    if (!activity_.IsActive(i, at)) continue;
    at[i] = Place(i, kernel, draws);
    Multiply(i, at[i], log_weights);
  }
  return at;
}

}  // namespace slipway::ensemble
