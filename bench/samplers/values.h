/// How the functions read a point and describe their spaces.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ensemble/model/scalar.h"

namespace slipway::bench {

/// The value of a parameter that is active; an integer as a number.
double Number(const ensemble::Point& point, std::string_view name);
const std::string& Text(const ensemble::Point& point, std::string_view name);
bool IsActive(const ensemble::Point& point, std::string_view name);
/// x0, x1, ... as long as there are any.
std::vector<double> Numbers(const ensemble::Point& point);

/// A formula over numbers, as a function of points.
template <double (*kFormula)(std::span<const double>)>
double Of(const ensemble::Point& point) {
  return kFormula(Numbers(point));
}

/// {"x0":{"KIND":[low,high]}, ...}
std::string Box(int dimensions, double low, double high, std::string_view kind = "uniform");

}  // namespace slipway::bench
