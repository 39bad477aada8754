#include "launcher/cli/commands/left_out.h"

#include <fmt/format.h>

namespace slipway::launcher {

void WarnOfLeftOut(std::string_view where, std::span<const staging::LeftOutFile> left_out, std::size_t taken,
                   Output& output) {
  if (left_out.empty()) return;
  output.Warn(fmt::format("{}: {}", where, staging::DescribeLeftOut(left_out, taken)));
}

}  // namespace slipway::launcher
