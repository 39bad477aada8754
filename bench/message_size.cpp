#include "bench/message_size.h"

#include <CLI/CLI.hpp>

#include "core/units.h"

namespace slipway::bench {

std::int64_t MessageBytes(const std::string& text, const char* example) {
  const auto bytes = ParseBytes(text);
  if (!bytes || bytes->count < 4) throw CLI::ValidationError("--sizes", "'" + text + "' is no size such as " + example);
  return static_cast<std::int64_t>(bytes->count / 4 * 4);
}

}  // namespace slipway::bench
