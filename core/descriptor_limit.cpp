#include "core/descriptor_limit.h"

#include <sys/resource.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <optional>
#include <system_error>

namespace slipway {
namespace {

/// Nothing: it was not raised.
std::optional<rlim_t> soft_limit_at_start;

}  // namespace

void RaiseDescriptorLimit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == limit.rlim_max) return;
  soft_limit_at_start = limit.rlim_cur;
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

void ResetDescriptorLimit() {
  rlimit limit{};
  if (!soft_limit_at_start || ::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = *soft_limit_at_start;
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

std::optional<std::int64_t> DescriptorsLeft() {
  namespace fs = std::filesystem;
  constexpr std::int64_t kMany = 1 << 30;
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return {};
  std::error_code error;
  const auto open = std::distance(fs::directory_iterator("/proc/self/fd", error), fs::directory_iterator());
  if (error) return {};
  return std::min<std::int64_t>(kMany, static_cast<std::int64_t>(std::min<rlim_t>(limit.rlim_cur, kMany)) - open);
}

}  // namespace slipway
