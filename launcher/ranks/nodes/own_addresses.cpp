#include "launcher/ranks/nodes/own_addresses.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <memory>

#include "core/error.h"

namespace slipway::launcher {

using staging::NodeAddress;

namespace {

/// Empty for what is neither IPv4 nor IPv6.
NodeAddress Numeric(const sockaddr* address, std::uint16_t port) {
  const bool four = address->sa_family == AF_INET;
  if (!four && address->sa_family != AF_INET6) return {};
  char host[NI_MAXHOST] = {};
  const auto size = static_cast<socklen_t>(four ? sizeof(sockaddr_in) : sizeof(sockaddr_in6));
  if (::getnameinfo(address, size, host, sizeof host, nullptr, 0, NI_NUMERICHOST) != 0) return {};
  return {host, port};
}

std::vector<NodeAddress> OfInterfaces(int family, std::uint16_t port) {
  ifaddrs* first = nullptr;
  CheckErrno(::getifaddrs(&first), "cannot ask for the addresses of this machine");
  const std::unique_ptr<ifaddrs, decltype(&::freeifaddrs)> all(first, ::freeifaddrs);
  std::vector<NodeAddress> addresses;
  std::vector<NodeAddress> loopback;
  for (const auto* each = first; each != nullptr; each = each->ifa_next) {
    if (each->ifa_addr == nullptr || each->ifa_addr->sa_family != family || (each->ifa_flags & IFF_UP) == 0) continue;
    auto address = Numeric(each->ifa_addr, port);
    if (!address.host.empty()) ((each->ifa_flags & IFF_LOOPBACK) != 0 ? loopback : addresses).push_back(address);
  }
  return addresses.empty() ? loopback : addresses;
}

bool IsAny(const sockaddr_storage& address) {
  if (address.ss_family == AF_INET) return reinterpret_cast<const sockaddr_in&>(address).sin_addr.s_addr == INADDR_ANY;
  return IN6_IS_ADDR_UNSPECIFIED(&reinterpret_cast<const sockaddr_in6&>(address).sin6_addr);
}

}  // namespace

std::vector<NodeAddress> AddressesOf(const std::vector<UniqueFd>& listeners) {
  std::vector<NodeAddress> addresses;
  for (const auto& listener : listeners) {
    sockaddr_storage own{};
    socklen_t size = sizeof own;
    auto* generic = reinterpret_cast<sockaddr*>(&own);
    CheckErrno(::getsockname(listener.get(), generic, &size), "cannot ask for a socket's address");
    const auto port = ntohs(own.ss_family == AF_INET ? reinterpret_cast<sockaddr_in&>(own).sin_port
                                                     : reinterpret_cast<sockaddr_in6&>(own).sin6_port);
    const auto found =
        IsAny(own) ? OfInterfaces(own.ss_family, port) : std::vector<NodeAddress>{Numeric(generic, port)};
    addresses.insert(addresses.end(), found.begin(), found.end());
  }
  return addresses;
}

}  // namespace slipway::launcher
