#include "staging/network/sockets.h"

#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/ip.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>

#include "core/error.h"

namespace slipway::staging {
namespace {

/// `host` may be null for all addresses of this machine. `reason` says why nothing is found.
std::vector<SocketAddress> Find(const char* host, std::uint16_t port, int flags, std::string& reason) {
  addrinfo wanted{};
  wanted.ai_flags = flags | AI_NUMERICSERV;
  wanted.ai_family = AF_UNSPEC;
  wanted.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int result = ::getaddrinfo(host, std::to_string(port).c_str(), &wanted, &found);
  if (result != 0) {
    reason = ::gai_strerror(result);
    return {};
  }
  std::vector<SocketAddress> addresses;
  for (const auto* each = found; each != nullptr; each = each->ai_next) {
    SocketAddress address;
    std::memcpy(&address.storage, each->ai_addr, each->ai_addrlen);
    address.size = each->ai_addrlen;
    addresses.push_back(address);
  }
  ::freeaddrinfo(found);
  return addresses;
}

bool IsLoopback(const SocketAddress& address) {
  if (address.storage.ss_family == AF_INET) {
    return ntohl(reinterpret_cast<const sockaddr_in&>(address.storage).sin_addr.s_addr) >> 24 == IN_LOOPBACKNET;
  }
  return IN6_IS_ADDR_LOOPBACK(&reinterpret_cast<const sockaddr_in6&>(address.storage).sin6_addr);
}

/// A name, other than localhost, that leads nowhere but back to this machine.
bool HidesTheMachine(const std::string& host, const std::vector<SocketAddress>& addresses) {
  std::string ignored;
  const bool numeric = !Find(host.c_str(), 0, AI_NUMERICHOST, ignored).empty();
  return !numeric && host != "localhost" && std::ranges::all_of(addresses, IsLoopback);
}

const sockaddr* Cast(const SocketAddress& address) { return reinterpret_cast<const sockaddr*>(&address.storage); }

bool Same(const SocketAddress& left, const SocketAddress& right) {
  return left.size == right.size && std::memcmp(&left.storage, &right.storage, left.size) == 0;
}

Error CannotListen(const NodeAddress& address, std::string_view reason) {
  return Error(ErrorKind::kEnvironment, fmt::format("cannot listen on {}:{}: {}", address.host, address.port, reason),
               "give each node an address of its own and a port that is free");
}

void SetOption(int fd, int level, int name, int value) { (void)::setsockopt(fd, level, name, &value, sizeof value); }

UniqueFd SocketFor(const SocketAddress& address) {
  return UniqueFd(::socket(address.storage.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
}

/// Nothing, with errno set, when it cannot.
UniqueFd Listen(const SocketAddress& address) {
  auto fd = SocketFor(address);
  if (!fd) return fd;
  SetOption(fd.get(), SOL_SOCKET, SO_REUSEADDR, 1);
  if (address.storage.ss_family == AF_INET6) SetOption(fd.get(), IPPROTO_IPV6, IPV6_V6ONLY, 1);
  if (::bind(fd.get(), Cast(address), address.size) == 0 && ::listen(fd.get(), SOMAXCONN) == 0) return fd;
  const int error = errno;
  fd.Reset();
  errno = error;
  return fd;
}

/// A name may stand for more than this machine, or for a protocol that it does not speak.
bool IsNotOurs(int error) { return error == EADDRNOTAVAIL || error == EAFNOSUPPORT; }

}  // namespace

std::vector<SocketAddress> Resolve(const NodeAddress& address) {
  std::string ignored;
  auto found = Find(address.host.c_str(), address.port, 0, ignored);
  for (const auto& other : address.more) {
    const auto also = Resolve(other);
    found.insert(found.end(), also.begin(), also.end());
  }
  return found;
}

std::vector<UniqueFd> ListenOn(const NodeAddress& address) {
  std::string reason;
  auto found = Find(address.host.c_str(), address.port, AI_PASSIVE, reason);
  if (!found.empty() && HidesTheMachine(address.host, found)) found = Find(nullptr, address.port, AI_PASSIVE, reason);
  std::vector<UniqueFd> listeners;
  for (std::size_t i = 0; i < found.size(); ++i) {
    if (std::any_of(found.begin(), found.begin() + static_cast<std::ptrdiff_t>(i),
                    [&](const SocketAddress& earlier) { return Same(earlier, found[i]); })) {
      continue;
    }
    if (auto fd = Listen(found[i])) {
      listeners.push_back(std::move(fd));
    } else {
      reason = std::strerror(errno);
      if (!IsNotOurs(errno)) throw CannotListen(address, reason);
    }
  }
  if (listeners.empty()) throw CannotListen(address, reason);
  return listeners;
}

UniqueFd StartConnect(const SocketAddress& address) {
  auto fd = SocketFor(address);
  if (!fd || ::connect(fd.get(), Cast(address), address.size) == 0 || errno == EINPROGRESS) return fd;
  const int error = errno;
  fd.Reset();
  errno = error;
  return fd;
}

int ConnectResult(int fd) {
  int error = 0;
  socklen_t size = sizeof error;
  return ::getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size) == 0 ? error : errno;
}

void TuneForRing(int fd) {
  SetOption(fd, IPPROTO_TCP, TCP_NODELAY, 1);
  SetOption(fd, IPPROTO_IP, IP_TOS, IPTOS_THROUGHPUT);  // the bulk band of pfifo_fast; no matter where it fails
}

}  // namespace slipway::staging
