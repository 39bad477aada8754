/// The members of a zip file, as NumPy writes it: stored or deflated, also with 64-bit sizes.
///
/// Source: PKWARE APPNOTE 6.3.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "staging/formats/growing_memory.h"

namespace slipway::staging {

struct ZipMember {
  std::string name;
  bool stored = true;                ///< as they are; else deflated
  std::uint32_t crc32 = 0;           ///< of the content
  std::uint64_t size = 0;            ///< of the content
  std::span<const std::byte> bytes;  ///< in the file
};

/// True when `file` begins as a zip file does.
bool IsZip(std::span<const std::byte> file);

/// In the order of the directory. Stored members are checked against their CRC. `path` is for messages.
/// Errors: Error(kEnvironment): no directory, places outside the file, encryption, another method, a wrong CRC.
std::vector<ZipMember> ListZip(std::span<const std::byte> file, const std::filesystem::path& path);

/// The content of a deflated member. Memory: what the member really holds, never more than it announces.
/// Errors: Error(kEnvironment): damaged, another length or CRC than announced.
GrowingMemory InflateMember(const ZipMember& member, const std::string& name);

}  // namespace slipway::staging
