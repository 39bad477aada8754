/// Tells when files in a directory are created, written to, or moved in (inotify; this machine's writes only).
#pragma once

#include <filesystem>
#include <functional>
#include <string>

#include "core/event_loop.h"

namespace slipway::launcher {

class DirectoryWatch {
 public:
  /// `changed` gets the name of the file. Errors: SystemError when the directory cannot be watched.
  DirectoryWatch(EventLoop& loop, const std::filesystem::path& directory,
                 std::function<void(const std::string& name)> changed);
  DirectoryWatch(const DirectoryWatch&) = delete;
  DirectoryWatch& operator=(const DirectoryWatch&) = delete;
  ~DirectoryWatch();

 private:
  void Read();

  EventLoop& loop_;
  UniqueFd fd_;
  std::function<void(const std::string&)> changed_;
};

}  // namespace slipway::launcher
