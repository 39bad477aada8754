/// What this process, and those that it starts, write to stderr.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include "core/files.h"

namespace slipway::test {

/// It goes to a file while the object lives.
class WrittenToStderr {
 public:
  explicit WrittenToStderr(const std::filesystem::path& file) : file_(file), before_(::dup(STDERR_FILENO)) {
    const int kept = ::open(file.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
    ::dup2(kept, STDERR_FILENO);
    ::close(kept);
  }
  WrittenToStderr(const WrittenToStderr&) = delete;
  WrittenToStderr& operator=(const WrittenToStderr&) = delete;
  ~WrittenToStderr() {
    ::dup2(before_, STDERR_FILENO);
    ::close(before_);
  }
  std::string Text() const { return ReadFile(file_); }

 private:
  std::filesystem::path file_;
  int before_;
};

}  // namespace slipway::test
