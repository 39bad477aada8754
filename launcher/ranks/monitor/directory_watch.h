/// Reports files that are created, written or moved in directories (inotify; writes of this machine only).
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <string>

#include "core/event_loop.h"

namespace slipway::launcher {

/// One inotify instance for any number of directories. The kernel takes some ten milliseconds to close an instance. So
/// thousands of short trials must share one.
class DirectoryWatcher {
 public:
  using Callback = std::function<void(const std::string& name)>;

  explicit DirectoryWatcher(EventLoop& loop);
  DirectoryWatcher(const DirectoryWatcher&) = delete;
  DirectoryWatcher& operator=(const DirectoryWatcher&) = delete;
  ~DirectoryWatcher();

 private:
  friend class DirectoryWatch;

  void Read();

  EventLoop& loop_;
  UniqueFd fd_;
  std::map<int, Callback> callbacks_;  // by inotify's number of the watch
};

/// One directory, for as long as the object lives. A directory has one watch at a time.
class DirectoryWatch {
 public:
  /// `changed` gets the name of the file. Errors: SystemError when the directory cannot be watched.
  DirectoryWatch(DirectoryWatcher& watcher, const std::filesystem::path& directory, DirectoryWatcher::Callback changed);
  DirectoryWatch(const DirectoryWatch&) = delete;
  DirectoryWatch& operator=(const DirectoryWatch&) = delete;
  ~DirectoryWatch();

 private:
  DirectoryWatcher& watcher_;
  int number_;
};

}  // namespace slipway::launcher
