/// The key that the nodes of a group share, and what is made from it. HMAC-SHA-256 (RFC 2104) throughout.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <initializer_list>
#include <span>
#include <string_view>

namespace slipway::staging {

using Digest = std::array<std::uint8_t, 32>;
using ByteView = std::span<const std::uint8_t>;

inline ByteView ViewOf(std::string_view text) {
  return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

/// 256 bits that are wiped from memory when it ends.
class GroupKey {
 public:
  explicit GroupKey(const Digest& bytes) : bytes_(bytes) {}
  GroupKey(const GroupKey&) = default;
  GroupKey& operator=(const GroupKey&) = default;
  ~GroupKey();

  /// The file holds 64 hexadecimal digits.
  /// Errors: Error(kEnvironment): a link, not a regular file, owned by another user, open to group or others, or with
  ///         something else in it.
  static GroupKey Read(const std::filesystem::path& path);
  /// Makes a new key from the kernel's random numbers, mode 0600. Errors: SystemError when the file exists.
  static void Create(const std::filesystem::path& path);

  /// The HMAC of the parts one after the other; parts of varying length must say their length themselves.
  Digest Prove(std::initializer_list<ByteView> parts) const;
  /// A key for one purpose.
  GroupKey Derive(std::string_view purpose, ByteView about) const;

 private:
  Digest bytes_;
};

/// In constant time.
bool SameDigest(const Digest& left, const Digest& right);
Digest RandomDigest();
/// SHA-256.
Digest DigestOf(std::string_view text);

}  // namespace slipway::staging
