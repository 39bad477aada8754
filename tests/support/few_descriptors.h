/// A process that may open only a few more files.
#pragma once

#include <sys/resource.h>
#include <unistd.h>

#include <filesystem>
#include <iterator>
#include <utility>
#include <vector>

#include "core/unique_handle.h"

namespace slipway::test {

/// As many descriptors as are open now, and `more`; as long as it lives.
class FewDescriptors {
 public:
  explicit FewDescriptors(rlim_t more) {
    namespace fs = std::filesystem;
    ::getrlimit(RLIMIT_NOFILE, &before_);
    const auto open = std::distance(fs::directory_iterator("/proc/self/fd"), fs::directory_iterator());
    const rlimit few{static_cast<rlim_t>(open) + more, before_.rlim_max};
    ::setrlimit(RLIMIT_NOFILE, &few);
  }
  FewDescriptors(const FewDescriptors&) = delete;
  FewDescriptors& operator=(const FewDescriptors&) = delete;
  ~FewDescriptors() { ::setrlimit(RLIMIT_NOFILE, &before_); }

 private:
  rlimit before_{};
};

/// As long as it lives, this process can open nothing.
class NoDescriptors {
 public:
  NoDescriptors() {
    for (UniqueFd each(::dup(STDERR_FILENO)); each; each.Reset(::dup(STDERR_FILENO))) taken_.push_back(std::move(each));
  }

 private:
  FewDescriptors few_{0};
  std::vector<UniqueFd> taken_;
};

}  // namespace slipway::test
