#include "tests/staging/network/proxy.h"

#include <poll.h>
#include <sys/socket.h>

#include "core/accept.h"
#include "core/error.h"
#include "staging/network/sockets.h"
#include "tests/staging/network/group_support.h"

namespace slipway::staging {
namespace {

constexpr int kTickMs = 20;

/// What one side has said; empty when it has closed.
std::string Take(int fd) {
  std::string bytes(64 << 10, '\0');
  const auto count = ::recv(fd, bytes.data(), bytes.size(), 0);
  bytes.resize(count > 0 ? static_cast<std::size_t>(count) : 0);
  return bytes;
}

bool Give(int fd, const std::string& bytes) {
  for (std::size_t done = 0; done < bytes.size();) {
    pollfd room{fd, POLLOUT, 0};
    ::poll(&room, 1, 1000);
    const auto count = ::send(fd, bytes.data() + done, bytes.size() - done, MSG_NOSIGNAL);
    if (count <= 0) return false;
    done += static_cast<std::size_t>(count);
  }
  return true;
}

}  // namespace

Proxy::Proxy(NodeAddress to, Change change)
    : to_(std::move(to)),
      change_(std::move(change)),
      address_{to_.host, FreePort(to_.host)},
      listener_(std::move(ListenOn(address_).at(0))),
      thread_([this] { Run(); }) {}

Proxy::~Proxy() { stop_ = true; }

void Proxy::Run() {
  while (!stop_) {
    pollfd waiting{listener_.get(), POLLIN, 0};
    if (::poll(&waiting, 1, kTickMs) <= 0) continue;
    if (const auto from = AcceptFrom(listener_.get(), SOCK_NONBLOCK)) Pass(from.get());
  }
}

void Proxy::Pass(int from) {
  UniqueFd to;
  try {
    to = ConnectTo(to_);
  } catch (const Error&) {
    return;  // not there yet: the node tries again
  }
  std::uint64_t offset = 0;
  while (!stop_) {
    pollfd waiting[2] = {{from, POLLIN, 0}, {to.get(), POLLIN, 0}};
    if (::poll(waiting, 2, kTickMs) <= 0) continue;
    if (waiting[0].revents != 0) {
      auto bytes = Take(from);
      if (bytes.empty()) return;
      const auto count = bytes.size();
      change_(offset, bytes);
      offset += count;
      if (!Give(to.get(), bytes)) return;
    }
    if (waiting[1].revents != 0) {
      const auto bytes = Take(to.get());
      if (bytes.empty() || !Give(from, bytes)) return;
    }
  }
}

}  // namespace slipway::staging
