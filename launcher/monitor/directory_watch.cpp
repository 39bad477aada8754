#include "launcher/monitor/directory_watch.h"

#include <fmt/format.h>
#include <sys/inotify.h>
#include <unistd.h>

#include <set>

#include "core/error.h"

namespace slipway::launcher {

DirectoryWatch::DirectoryWatch(EventLoop& loop, const std::filesystem::path& directory,
                               std::function<void(const std::string&)> changed)
    : loop_(loop),
      fd_(CheckErrno(::inotify_init1(IN_CLOEXEC | IN_NONBLOCK), "cannot watch directories")),
      changed_(std::move(changed)) {
  const auto mask = IN_CREATE | IN_MODIFY | IN_MOVED_TO;
  CheckErrno(::inotify_add_watch(fd_.get(), directory.c_str(), mask),
             fmt::format("cannot watch the directory '{}'", directory.string()));
  loop_.OnReadable(fd_.get(), [this] { Read(); });
}

DirectoryWatch::~DirectoryWatch() { loop_.Forget(fd_.get()); }

void DirectoryWatch::Read() {
  alignas(inotify_event) char buffer[1 << 14];
  std::set<std::string> names;
  while (true) {
    const ssize_t count = ::read(fd_.get(), buffer, sizeof buffer);
    if (count <= 0) break;
    for (const char* at = buffer; at < buffer + count;) {
      const auto* event = reinterpret_cast<const inotify_event*>(at);
      if (event->len > 0) names.insert(event->name);
      at += sizeof(inotify_event) + event->len;
    }
  }
  for (const auto& name : names) changed_(name);
}

}  // namespace slipway::launcher
