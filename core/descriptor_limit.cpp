#include "core/descriptor_limit.h"

#include <sys/resource.h>

#include <optional>

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

}  // namespace slipway
