#include "ensemble/exchange/optuna_distribution.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "ensemble/space/number.h"

namespace slipway::ensemble {
namespace {

/// Doubles from here on stand for several integers.
constexpr double kIntegersEnd = 0x1p63;

Json Distribution(const char* name, Json attributes) {
  return Json{{"name", name}, {"attributes", std::move(attributes)}};
}

Json Categorical(const std::vector<Scalar>& values) {
  Json choices = Json::array();
  for (const auto& value : values) choices.push_back(ToJson(value));
  return Distribution("CategoricalDistribution", Json{{"choices", std::move(choices)}});
}

Json LastValue(const Domain& domain) { return ToJson(ValueAt(domain, CountValues(domain) - 1)); }

struct ToDistribution {
  Json operator()(const UniformDomain& range) const {
    const bool stepped = range.step != 0;
    return Distribution("FloatDistribution", Json{{"step", stepped ? Json(range.step) : Json(nullptr)},
                                                  {"low", range.low},
                                                  {"high", stepped ? LastValue(range) : Json(range.high)},
                                                  {"log", false}});
  }
  Json operator()(const LogDomain& range) const {
    return Distribution("FloatDistribution",
                        Json{{"step", nullptr}, {"low", range.low}, {"high", range.high}, {"log", true}});
  }
  Json operator()(const IntDomain& range) const {
    return Distribution("IntDistribution",
                        Json{{"log", false}, {"step", range.step}, {"low", range.low}, {"high", LastValue(range)}});
  }
  Json operator()(const IntLogDomain& range) const {
    return Distribution("IntDistribution", Json{{"log", true}, {"step", 1}, {"low", range.low}, {"high", range.high}});
  }
  Json operator()(const ChoiceDomain& choice) const { return Categorical(choice.values); }
  Json operator()(const OrdinalDomain& ordinal) const { return Categorical(ordinal.values); }
  Json operator()(const FixedDomain& fixed) const { return Categorical({fixed.value}); }
};

bool IsCategorical(const Domain& domain) {
  return std::holds_alternative<ChoiceDomain>(domain) || std::holds_alternative<OrdinalDomain>(domain) ||
         std::holds_alternative<FixedDomain>(domain);
}

std::optional<Scalar> IntegerFrom(double number) {
  if (number != std::floor(number) || number < -kIntegersEnd || number >= kIntegersEnd) return std::nullopt;
  return static_cast<std::int64_t>(number);
}

std::optional<Scalar> ChoiceFrom(const Json& attributes, double number) {
  const auto choices = attributes.find("choices");
  if (choices == attributes.end() || !choices->is_array()) return std::nullopt;
  if (!(number >= 0) || number >= static_cast<double>(choices->size())) return std::nullopt;
  return ScalarFromJson((*choices)[static_cast<std::size_t>(number)]);
}

}  // namespace

std::string OptunaDistribution(const Domain& domain) {
  return std::visit(ToDistribution{}, domain).dump(-1, ' ', false, Json::error_handler_t::replace);
}

double OptunaNumber(const Domain& domain, const Scalar& value) {
  if (IsCategorical(domain)) return static_cast<double>(IndexOf(domain, value).value());
  return NumberOf(value);
}

std::optional<Scalar> FromOptunaNumber(std::string_view distribution, double number) {
  const Json json = Json::parse(distribution, nullptr, false);
  if (!json.is_object() || !std::isfinite(number)) return std::nullopt;
  const Json name = json.value("name", Json());
  const Json attributes = json.value("attributes", Json());
  if (!attributes.is_object()) return std::nullopt;
  if (name == "FloatDistribution") return number;
  if (name == "IntDistribution") return IntegerFrom(number);
  if (name == "CategoricalDistribution") return ChoiceFrom(attributes, number);
  return std::nullopt;
}

}  // namespace slipway::ensemble
