#include "launcher/serve/access.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <sys/random.h>

#include <algorithm>
#include <array>

#include "core/error.h"
#include "core/lines.h"
#include "core/text.h"

namespace slipway::launcher {
namespace {

/// Of "name:port", "[address]:port" or either without a port.
std::string NameInHost(std::string_view header) {
  if (header.starts_with('[')) {
    const auto end = header.find(']');
    return end == header.npos ? std::string() : LowerCase(header.substr(1, end - 1));
  }
  auto name = LowerCase(header.substr(0, header.find(':')));
  if (name.ends_with('.')) name.pop_back();
  return name;
}

bool IsAddress(const std::string& name) {
  std::array<unsigned char, 16> bytes{};
  return ::inet_pton(AF_INET, name.c_str(), bytes.data()) == 1 ||
         ::inet_pton(AF_INET6, name.c_str(), bytes.data()) == 1;
}

}  // namespace

std::string NewToken() {
  std::array<unsigned char, 16> bytes{};
  if (::getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) {
    ThrowErrno("cannot get random bytes");
  }
  std::string token;
  for (const unsigned char byte : bytes) token += fmt::format("{:02x}", byte);
  return token;
}

bool IsSameSecret(std::string_view one, std::string_view other) {
  if (one.size() != other.size()) return false;
  unsigned char difference = 0;
  for (std::size_t i = 0; i < one.size(); ++i) difference |= static_cast<unsigned char>(one[i] ^ other[i]);
  const volatile unsigned char seen = difference;  // the compiler must not stop at the first difference
  return seen == 0;
}

Access MakeAccess(std::string token, const std::string& address, int port, const std::string& host) {
  Access access{std::move(token), fmt::format("slipway-{}", port), {"localhost", "127.0.0.1", "::1"}, {}};
  if (IsLoopback(address)) return access;
  const auto name = LowerCase(host);
  access.hosts.insert(access.hosts.end(), {LowerCase(address), name, name.substr(0, name.find('.'))});
  if (address == "0.0.0.0" || address == "::") access.addresses = AddressForm::kAnyAddress;
  return access;
}

bool IsLoopback(std::string_view address) { return address.starts_with("127.") || address == "::1"; }

bool AllowsHost(const Access& access, std::string_view header) {
  const auto name = NameInHost(header);
  if (name.empty()) return false;
  if (access.addresses == AddressForm::kAnyAddress && IsAddress(name)) return true;
  return std::ranges::find(access.hosts, name) != access.hosts.end();
}

bool AllowsCookie(const Access& access, std::string_view header) {
  LineWords cookies(header);
  while (!cookies.rest().empty()) {
    auto cookie = cookies.Word(';');
    while (cookie.starts_with(' ')) cookie.remove_prefix(1);
    const auto equals = cookie.find('=');
    if (equals == cookie.npos || cookie.substr(0, equals) != access.cookie) continue;
    if (IsSameSecret(cookie.substr(equals + 1), access.token)) return true;
  }
  return false;
}

}  // namespace slipway::launcher
