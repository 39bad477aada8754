#include "core/descriptor_limit.h"

#include <sys/resource.h>

#include <optional>

namespace slipway {
namespace {

/// Nothing: it was not raised.
std::optional<rlim_t> soft_limit_at_start;
std::mutex descriptor_limit_mutex;

void SetSoftDescriptorLimit(rlim_t soft, rlim_t hard) {
  const rlimit limit{soft, hard};
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

rlim_t HardDescriptorLimit() {
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  return limit.rlim_max;
}

}  // namespace

void RaiseDescriptorLimit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == limit.rlim_max) return;
  soft_limit_at_start = limit.rlim_cur;
  SetSoftDescriptorLimit(limit.rlim_max, limit.rlim_max);
}

DescriptorLimitOfChildren::DescriptorLimitOfChildren() {
  if (!soft_limit_at_start) return;
  alone_ = std::unique_lock(descriptor_limit_mutex);
  SetSoftDescriptorLimit(*soft_limit_at_start, HardDescriptorLimit());
}

DescriptorLimitOfChildren::~DescriptorLimitOfChildren() {
  if (!alone_) return;
  const auto hard = HardDescriptorLimit();
  SetSoftDescriptorLimit(hard, hard);
}

}  // namespace slipway
