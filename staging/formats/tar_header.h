/// What stands before and behind the contents of a tar archive that Slipway writes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace slipway::staging {

/// The header of a plain file: ustar, with a pax header before it when the path is longer than 100 bytes. The same
/// for each call: no owner, no time. Errors: Error(kEnvironment) for a content of 8 GiB or more.
std::string TarHeader(std::string_view path, std::uint64_t size);
/// What fills the last block of a content of `size` bytes.
std::string_view TarPadding(std::uint64_t size);
/// What ends an archive.
std::string_view EndOfTar();

}  // namespace slipway::staging
