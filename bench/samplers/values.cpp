#include "bench/samplers/values.h"

#include <fmt/format.h>

#include <stdexcept>

namespace slipway::bench {
namespace {

const ensemble::Scalar& At(const ensemble::Point& point, std::string_view name) {
  const auto* value = ensemble::Find(point, name);
  if (value == nullptr) throw std::logic_error(fmt::format("the point has no '{}'", name));
  return *value;
}

double ToNumber(const ensemble::Scalar& value) {
  if (const auto* integer = std::get_if<std::int64_t>(&value)) return static_cast<double>(*integer);
  return std::get<double>(value);
}

}  // namespace

double Number(const ensemble::Point& point, std::string_view name) { return ToNumber(At(point, name)); }

const std::string& Text(const ensemble::Point& point, std::string_view name) {
  return std::get<std::string>(At(point, name));
}

bool IsActive(const ensemble::Point& point, std::string_view name) { return ensemble::Find(point, name) != nullptr; }

std::vector<double> Numbers(const ensemble::Point& point) {
  std::vector<double> numbers;
  while (const auto* value = ensemble::Find(point, fmt::format("x{}", numbers.size()))) {
    numbers.push_back(ToNumber(*value));
  }
  return numbers;
}

std::string Box(int dimensions, double low, double high, std::string_view kind) {
  std::string members;
  for (int i = 0; i < dimensions; ++i) {
    members += fmt::format(R"({}"x{}":{{"{}":[{},{}]}})", i == 0 ? "" : ",", i, kind, low, high);
  }
  return "{" + members + "}";
}

}  // namespace slipway::bench
