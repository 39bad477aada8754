#include "staging/network/sockets.h"

#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/ip.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <memory>

#include "core/error.h"

namespace slipway::staging {
namespace {

struct FreeAddresses {
  void operator()(addrinfo* info) const { ::freeaddrinfo(info); }
};
using Addresses = std::unique_ptr<addrinfo, FreeAddresses>;

/// Null, with the reason, when the name stands for nothing.
Addresses Resolve(const NodeAddress& address, int flags, std::string& reason) {
  addrinfo wanted{};
  wanted.ai_flags = flags | AI_NUMERICSERV;
  wanted.ai_family = AF_UNSPEC;
  wanted.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int result = ::getaddrinfo(address.host.c_str(), std::to_string(address.port).c_str(), &wanted, &found);
  if (result != 0) reason = ::gai_strerror(result);
  return Addresses(result == 0 ? found : nullptr);
}

UniqueFd SocketFor(const addrinfo& address) {
  return UniqueFd(::socket(address.ai_family, address.ai_socktype | SOCK_NONBLOCK | SOCK_CLOEXEC, address.ai_protocol));
}

Error CannotListen(const NodeAddress& address, std::string_view reason) {
  return Error(ErrorKind::kEnvironment, fmt::format("cannot listen on {}:{}: {}", address.host, address.port, reason),
               "give each node an address of its own and a port that is free");
}

void SetOption(int fd, int level, int name, int value) { (void)::setsockopt(fd, level, name, &value, sizeof value); }

}  // namespace

UniqueFd ListenOn(const NodeAddress& address) {
  std::string reason;
  const auto found = Resolve(address, AI_PASSIVE, reason);
  if (!found) throw CannotListen(address, reason);
  auto fd = SocketFor(*found);
  if (!fd) throw CannotListen(address, std::strerror(errno));
  SetOption(fd.get(), SOL_SOCKET, SO_REUSEADDR, 1);
  if (::bind(fd.get(), found->ai_addr, found->ai_addrlen) != 0 || ::listen(fd.get(), 64) != 0) {
    throw CannotListen(address, std::strerror(errno));
  }
  return fd;
}

UniqueFd StartConnect(const NodeAddress& address) {
  std::string reason;
  const auto found = Resolve(address, 0, reason);
  if (!found) return {};
  auto fd = SocketFor(*found);
  if (fd && ::connect(fd.get(), found->ai_addr, found->ai_addrlen) != 0 && errno != EINPROGRESS) return {};
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

UniqueFd AcceptFrom(int listener) {
  return UniqueFd(::accept4(listener, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
}

}  // namespace slipway::staging
