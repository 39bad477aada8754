#include "ensemble/space/domain.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <limits>

#include "ensemble/model/scalar.h"

namespace slipway::ensemble {
namespace {

constexpr double kNoNumber = std::numeric_limits<double>::quiet_NaN();

/// The number of decimals in the shortest text of a number: 2 for 0.25, 5 for 1e-05.
int CountDecimals(double number) {
  const std::string text = fmt::format("{}", number);
  const auto exponent_at = std::min(text.find('e'), text.size());
  const auto point_at = std::min(text.find('.'), exponent_at);
  const auto after_point = std::max<std::ptrdiff_t>(static_cast<std::ptrdiff_t>(exponent_at - point_at) - 1, 0);
  const int exponent = exponent_at == text.size() ? 0 : std::atoi(text.c_str() + exponent_at + 1);
  return std::max(static_cast<int>(after_point) - exponent, 0);
}

/// low + count * step, rounded to the decimals of `low` and `step`: -5 + 53 * 0.1 gives 0.3. The rounding error of the
/// sum is as large as that of its largest part, so the digits of the sum itself do not show where to round.
double SumOfSteps(const UniformDomain& range, std::uint64_t count) {
  const double sum = std::fma(static_cast<double>(count), range.step, range.low);
  const int decimals = std::max(CountDecimals(range.low), CountDecimals(range.step));
  return std::strtod(fmt::format("{:.{}f}", sum, decimals).c_str(), nullptr) + 0.0;  // -0 becomes 0
}

/// The number of steps between the low end and a number. It is made whole if it is off by at most a billionth of a step
/// or by the rounding error of the ends.
double StepsTo(const UniformDomain& range, double number) {
  const double steps = (number - range.low) / range.step;
  const double largest = std::max(std::abs(range.low), std::abs(range.high));
  const double noise = 4 * std::numeric_limits<double>::epsilon() * largest / range.step;
  const double nearest = std::round(steps);
  return std::abs(steps - nearest) <= std::max(noise, 1e-9) ? nearest : steps;
}

double CountAsNumber(std::uint64_t count) { return count == 0 ? 0x1p64 : static_cast<double>(count); }

std::uint64_t IndexAtUnit(std::uint64_t count, double unit) {
  const double index = std::floor(std::clamp(unit, 0.0, 1.0) * CountAsNumber(count));
  return index >= CountAsNumber(count) - 1 ? count - 1 : static_cast<std::uint64_t>(index);
}

/// The range of int_log on the number line: each integer owns the numbers that round to it.
double LowestOf(const IntLogDomain& range) { return static_cast<double>(range.low) - 0.5; }
double WidthOf(const IntLogDomain& range) {
  return std::log((static_cast<double>(range.high) + 0.5) / LowestOf(range));
}

std::optional<std::uint64_t> IndexAmong(const std::vector<Scalar>& values, const Scalar& value) {
  const auto found = std::ranges::find_if(values, [&](const Scalar& other) { return SameValue(other, value); });
  if (found == values.end()) return std::nullopt;
  return static_cast<std::uint64_t>(found - values.begin());
}

struct Count {
  std::uint64_t operator()(const UniformDomain& range) const {
    return static_cast<std::uint64_t>(StepsTo(range, range.high)) + 1;
  }
  std::uint64_t operator()(const LogDomain&) const { return 0; }
  std::uint64_t operator()(const IntDomain& range) const {
    const auto width = static_cast<std::uint64_t>(range.high) - static_cast<std::uint64_t>(range.low);
    return width / static_cast<std::uint64_t>(range.step) + 1;
  }
  std::uint64_t operator()(const IntLogDomain& range) const {
    return static_cast<std::uint64_t>(range.high - range.low) + 1;
  }
  std::uint64_t operator()(const ChoiceDomain& choice) const { return choice.values.size(); }
  std::uint64_t operator()(const OrdinalDomain& ordinal) const { return ordinal.values.size(); }
  std::uint64_t operator()(const FixedDomain&) const { return 1; }
};

struct At {
  std::uint64_t index;
  Scalar operator()(const UniformDomain& range) const { return std::min(SumOfSteps(range, index), range.high); }
  Scalar operator()(const LogDomain& range) const { return range.low; }
  Scalar operator()(const IntDomain& range) const {
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(range.low) +
                                     index * static_cast<std::uint64_t>(range.step));
  }
  Scalar operator()(const IntLogDomain& range) const { return range.low + static_cast<std::int64_t>(index); }
  Scalar operator()(const ChoiceDomain& choice) const { return choice.values.at(index); }
  Scalar operator()(const OrdinalDomain& ordinal) const { return ordinal.values.at(index); }
  Scalar operator()(const FixedDomain& fixed) const { return fixed.value; }
};

struct Index {
  using Result = std::optional<std::uint64_t>;
  const Scalar& value;
  Result operator()(const UniformDomain& range) const {
    const double steps = StepsTo(range, NumberOf(value));
    if (!(steps >= 0) || steps != std::floor(steps)) return std::nullopt;
    return Below(steps, Count{}(range));
  }
  Result operator()(const LogDomain&) const { return std::nullopt; }
  Result operator()(const IntDomain& range) const {
    const auto integer = IntegerOf(value);
    if (!integer || *integer < range.low || *integer > range.high) return std::nullopt;
    const auto above = static_cast<std::uint64_t>(*integer) - static_cast<std::uint64_t>(range.low);
    if (above % static_cast<std::uint64_t>(range.step) != 0) return std::nullopt;
    return above / static_cast<std::uint64_t>(range.step);
  }
  Result operator()(const IntLogDomain& range) const { return (*this)(IntDomain{range.low, range.high}); }
  Result operator()(const ChoiceDomain& choice) const { return IndexAmong(choice.values, value); }
  Result operator()(const OrdinalDomain& ordinal) const { return IndexAmong(ordinal.values, value); }
  Result operator()(const FixedDomain& fixed) const { return IndexAmong({fixed.value}, value); }

 private:
  static Result Below(double index, std::uint64_t count) {
    if (index >= static_cast<double>(count)) return std::nullopt;
    return static_cast<std::uint64_t>(index);
  }
};

double WidthOf(const LogDomain& range) { return std::log(range.high) - std::log(range.low); }

double UnitOfContinuous(const Domain& domain, double number) {
  if (const auto* log = std::get_if<LogDomain>(&domain)) {
    return (std::log(number) - std::log(log->low)) / WidthOf(*log);
  }
  const auto& uniform = std::get<UniformDomain>(domain);
  return (number - uniform.low) / (uniform.high - uniform.low);
}

/// The number at `unit`. 0 and 1 give exactly the ends, without rounding errors of the logarithm.
double ContinuousAtUnit(const Domain& domain, double unit) {
  if (const auto* log = std::get_if<LogDomain>(&domain)) {
    const double number = std::exp(std::log(log->low) + unit * WidthOf(*log));
    return unit == 1 ? log->high : unit == 0 ? log->low : std::clamp(number, log->low, log->high);
  }
  const auto& uniform = std::get<UniformDomain>(domain);
  return unit == 1 ? uniform.high : std::min(uniform.low + unit * (uniform.high - uniform.low), uniform.high);
}

}  // namespace

const std::string& DomainName(const Domain& domain) {
  static const std::array<std::string, std::variant_size_v<Domain>> names = {"uniform", "log",     "int",  "int_log",
                                                                             "choice",  "ordinal", "fixed"};
  return names[domain.index()];
}

bool IsList(const Domain& domain) {
  return std::holds_alternative<ChoiceDomain>(domain) || std::holds_alternative<OrdinalDomain>(domain) ||
         std::holds_alternative<FixedDomain>(domain);
}

bool IsContinuous(const Domain& domain) {
  const auto* uniform = std::get_if<UniformDomain>(&domain);
  return std::holds_alternative<LogDomain>(domain) || (uniform != nullptr && uniform->step == 0);
}

bool Contains(const Domain& domain, const Scalar& value) {
  if (!IsContinuous(domain)) return IndexOf(domain, value).has_value();
  const double number = NumberOf(value);
  if (const auto* log = std::get_if<LogDomain>(&domain)) return log->low <= number && number <= log->high;
  const auto& uniform = std::get<UniformDomain>(domain);
  return uniform.low <= number && number <= uniform.high;
}

std::optional<Scalar> Canonical(const Domain& domain, const Scalar& value) {
  if (!Contains(domain, value)) return std::nullopt;
  if (IsContinuous(domain)) return NumberOf(value);
  return ValueAt(domain, *IndexOf(domain, value));
}

std::uint64_t CountValues(const Domain& domain) { return std::visit(Count{}, domain); }

Scalar ValueAt(const Domain& domain, std::uint64_t index) { return std::visit(At{index}, domain); }

std::optional<std::uint64_t> IndexOf(const Domain& domain, const Scalar& value) {
  return std::visit(Index{value}, domain);
}

double UnitOf(const Domain& domain, const Scalar& value) {
  if (IsContinuous(domain)) return UnitOfContinuous(domain, NumberOf(value));
  if (const auto* range = std::get_if<IntLogDomain>(&domain)) {
    return std::log(NumberOf(value) / LowestOf(*range)) / WidthOf(*range);
  }
  const auto index = IndexOf(domain, value);
  return index ? (static_cast<double>(*index) + 0.5) / CountAsNumber(CountValues(domain)) : kNoNumber;
}

Scalar AtUnit(const Domain& domain, double unit) {
  if (IsContinuous(domain)) return ContinuousAtUnit(domain, std::clamp(unit, 0.0, 1.0));
  const auto* range = std::get_if<IntLogDomain>(&domain);
  if (range == nullptr) return ValueAt(domain, IndexAtUnit(CountValues(domain), unit));
  const double number = std::round(LowestOf(*range) * std::exp(std::clamp(unit, 0.0, 1.0) * WidthOf(*range)));
  if (number >= static_cast<double>(range->high)) return range->high;
  return std::max(static_cast<std::int64_t>(number), range->low);
}

}  // namespace slipway::ensemble
