#include "bench/samplers/side.h"

#include <fmt/format.h>

#include <string_view>

#include "core/error.h"
#include "core/lines.h"

namespace slipway::bench {
namespace {

constexpr int kMostParallel = 10000;

}  // namespace

Side SideOf(const std::string& name, int otherwise) {
  const auto at = name.find('@');
  if (at == std::string::npos) return {name, otherwise};
  Side side{name.substr(0, at), 0};
  const bool is_number = ParseNumber(std::string_view(name).substr(at + 1), side.parallel);
  if (!is_number || side.parallel < 1 || side.parallel > kMostParallel) {
    throw Error(ErrorKind::kUsage,
                fmt::format("'{}': behind the @ stands how many trials are open, 1 to {}", name, kMostParallel),
                fmt::format("write {}@8, for example", side.sampler));
  }
  return side;
}

}  // namespace slipway::bench
