/// The members of a tar archive while its bytes stream past.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

struct archive_entry;

namespace slipway::staging {

/// A regular file in the archive. Places are bytes of the archive.
struct TarMember {
  std::string path;             ///< as it is stored; never absolute, never with a part ".."
  std::uint64_t header_at = 0;  ///< of the first block that describes it
  std::uint64_t data_at = 0;
  std::uint64_t size = 0;
  /// Behind its last block: where the next member begins.
  std::uint64_t end = 0;
};

/// Feed it all bytes of an archive in order, in pieces of any size; then Finish(). libarchive reads the headers: ustar,
/// pax, GNU and the oldest tar. What is behind a header is skipped.
///
/// Memory: the header that is being read, at most kMostHeaderBytes.
/// Errors: Error(kEnvironment) naming the archive, the member and the byte: no tar, compressed, a damaged header, a
///         torn archive, one without an end, bytes behind the end. Also for members that are no plain files (links,
///         devices, sparse files), and for paths that are absolute or lead out of the archive. Directories are skipped.
class TarMembers {
 public:
  using OnMember = std::function<void(TarMember member)>;
  static constexpr std::size_t kMostHeaderBytes = 64 << 10;

  /// `begin`: the byte of the archive that is fed first; a member begins there.
  TarMembers(std::filesystem::path archive, OnMember on_member, std::uint64_t begin = 0)
      : archive_(std::move(archive)), on_member_(std::move(on_member)), at_(begin) {}

  void Update(std::span<const std::byte> bytes);
  void Finish() const;
  /// Whether the bytes that were fed end with a member, before the end of the archive.
  bool IsBetweenMembers() const { return part_ == Part::kHeader && header_.empty(); }

  /// Bytes of a member's content that come next: they need not be fed, but skipped.
  std::uint64_t content_left() const { return left_; }
  /// `bytes` <= content_left().
  void Skip(std::uint64_t bytes);

 private:
  enum class Part { kHeader, kData, kEnd };

  std::size_t Take(std::span<const std::byte> bytes);
  void PassContent(std::uint64_t bytes);
  std::size_t TakeHeader(std::span<const std::byte> bytes);
  void ReadHeader();
  void Enter(archive_entry* entry);
  bool IsCompressed() const;
  [[noreturn]] void ThrowMember(const std::string& path, std::string_view what, std::string next) const;
  [[noreturn]] void ThrowHeader() const;
  [[noreturn]] void ThrowTorn() const;

  std::filesystem::path archive_;
  OnMember on_member_;
  Part part_ = Part::kHeader;
  std::vector<std::byte> header_;  ///< of the next member, as far as it has come
  std::uint64_t header_at_ = 0;
  std::uint64_t at_;        ///< behind the bytes that have been taken
  std::uint64_t left_ = 0;  ///< of the present member, with what fills its last block
  std::string last_path_;
};

}  // namespace slipway::staging
