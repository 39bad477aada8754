/// Who may read what `slipway serve` shows: only who has its URL, and only under a name of this machine. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace slipway::launcher {

/// A secret of 128 random bits, as 32 hexadecimal digits. Errors: SystemError.
std::string NewToken();

/// Compares in a time that depends on the lengths only.
bool IsSameSecret(std::string_view one, std::string_view other);

enum class AddressForm { kNamesOnly, kAnyAddress };

struct Access {
  std::string token;
  std::string cookie;              ///< its name; one for each port, since browsers give cookies to all ports of a host
  std::vector<std::string> hosts;  ///< names and addresses, lower case
  AddressForm addresses = AddressForm::kNamesOnly;  ///< kAnyAddress: any literal address is a name of this machine
};

/// `address`: what the server listens on; `host`: the name of this machine.
Access MakeAccess(std::string token, const std::string& address, int port, const std::string& host);

/// True for addresses that only this machine reaches.
bool IsLoopback(std::string_view address);

/// Whether a Host header names this machine. The port is ignored: a tunnel may begin at another one. A page of another
/// site whose name was made to point here (DNS rebinding) sends that name.
bool AllowsHost(const Access& access, std::string_view header);

/// Whether a Cookie header has the token.
bool AllowsCookie(const Access& access, std::string_view header);

}  // namespace slipway::launcher
