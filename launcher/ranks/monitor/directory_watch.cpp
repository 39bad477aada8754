#include "launcher/ranks/monitor/directory_watch.h"

#include <fmt/format.h>
#include <sys/inotify.h>
#include <unistd.h>

#include <set>
#include <utility>

#include "core/error.h"

namespace slipway::launcher {

DirectoryWatcher::DirectoryWatcher(EventLoop& loop)
    : loop_(loop), fd_(CheckErrno(::inotify_init1(IN_CLOEXEC | IN_NONBLOCK), "cannot watch directories")) {
  loop_.OnReadable(fd_.get(), [this] { Read(); });
}

DirectoryWatcher::~DirectoryWatcher() { loop_.Forget(fd_.get()); }

void DirectoryWatcher::Read() {
  alignas(inotify_event) char buffer[1 << 14];
  std::set<std::pair<int, std::string>> changes;
  while (true) {
    const ssize_t count = ::read(fd_.get(), buffer, sizeof buffer);
    if (count <= 0) break;
    for (const char* at = buffer; at < buffer + count;) {
      const auto* event = reinterpret_cast<const inotify_event*>(at);
      if (event->len > 0) changes.emplace(event->wd, event->name);
      at += sizeof(inotify_event) + event->len;
    }
  }
  for (const auto& [number, name] : changes) {
    const auto found = callbacks_.find(number);
    if (found == callbacks_.end()) continue;  // its watch has ended meanwhile
    const auto callback = found->second;      // it may end its own watch
    callback(name);
  }
}

DirectoryWatch::DirectoryWatch(DirectoryWatcher& watcher, const std::filesystem::path& directory,
                               DirectoryWatcher::Callback changed)
    : watcher_(watcher),
      number_(CheckErrno(::inotify_add_watch(watcher.fd_.get(), directory.c_str(), IN_CREATE | IN_MODIFY | IN_MOVED_TO),
                         fmt::format("cannot watch the directory '{}'", directory.string()))) {
  watcher_.callbacks_[number_] = std::move(changed);
}

DirectoryWatch::~DirectoryWatch() {
  watcher_.callbacks_.erase(number_);
  ::inotify_rm_watch(watcher_.fd_.get(), number_);
}

}  // namespace slipway::launcher
