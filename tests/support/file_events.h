/// Waits in tests for what other processes and threads do with a file.
#pragma once

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/inotify.h>
#include <unistd.h>

#include <cstdint>
#include <filesystem>

#include "core/files.h"

namespace slipway::test {

class FileEvents {
 public:
  /// Those of `mask`, such as IN_OPEN, from now on.
  FileEvents(const std::filesystem::path& file, std::uint32_t mask) {
    EXPECT_GE(::inotify_add_watch(events_.get(), file.c_str(), mask), 0);
  }
  /// Takes the next one; false when none comes in 40 s.
  bool TakeNext() const {
    pollfd watch{events_.get(), POLLIN, 0};
    inotify_event event{};  // that of a file has no name
    return ::poll(&watch, 1, 40'000) == 1 && ::read(events_.get(), &event, sizeof event) == sizeof event;
  }

 private:
  UniqueFd events_{::inotify_init1(IN_CLOEXEC)};
};

}  // namespace slipway::test
