#include "launcher/ranks/local/listener.h"

#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>

#include "core/error.h"

namespace slipway::launcher {
namespace {

/// All ranks of a node may come at once.
constexpr int kBacklog = 1024;

sockaddr_un AddressOf(const std::filesystem::path& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.native().size() > kLongestListenerPath)
    throw SystemError(ENAMETOOLONG, fmt::format("cannot listen at '{}'", path.native()));
  std::strcpy(address.sun_path, path.c_str());
  return address;
}

bool IsOfThisUser(int socket) {
  ucred peer{};
  socklen_t size = sizeof peer;
  return ::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 && peer.uid == ::geteuid();
}

}  // namespace

Listener::Listener(EventLoop& loop, std::filesystem::path path, std::function<void(UniqueFd)> arrived)
    : path_(std::move(path)) {
  const auto address = AddressOf(path_);
  listener_ =
      UniqueFd(CheckErrno(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), "cannot create a socket"));
  CheckErrno(::bind(listener_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address),
             "cannot bind a socket");
  CheckErrno(::listen(listener_.get(), kBacklog), "cannot listen on a socket");
  watch_.emplace(loop, listener_.get(), 0, [arrived = std::move(arrived)](UniqueFd socket) {
    if (IsOfThisUser(socket.get())) arrived(std::move(socket));
  });
}

Listener::~Listener() { ::unlink(path_.c_str()); }

}  // namespace slipway::launcher
