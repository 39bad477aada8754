/// The private directory beside a destination in which a copy is prepared.
#pragma once

#include <filesystem>
#include <optional>

#include "core/files.h"

namespace slipway::staging {

/// Locked while it is worked on, removed at the end. The lock also keeps a second process from the same destination,
/// for which CopyFiles has no need.
class PrivatePlace {
 public:
  /// `.tmp-out-NAME` beside `destination`; nothing when another process is at work there. What an ended one left in it
  /// is there still. Errors: SystemError.
  static std::optional<PrivatePlace> TryTakeFor(const std::filesystem::path& destination);

  PrivatePlace(PrivatePlace&& other) noexcept;
  PrivatePlace& operator=(PrivatePlace&&) = delete;
  ~PrivatePlace();

  const std::filesystem::path& directory() const { return directory_; }

 private:
  friend void RemoveOutLeftovers(const std::filesystem::path& parent);

  static std::optional<PrivatePlace> TryTake(const std::filesystem::path& directory);
  static void RemoveIfAbandoned(const std::filesystem::path& directory);
  PrivatePlace(std::filesystem::path directory, FileLock lock);

  std::filesystem::path directory_;
  FileLock lock_;
};

/// Removes what ended processes left in `parent`; what a process is at work on stays.
void RemoveOutLeftovers(const std::filesystem::path& parent);

}  // namespace slipway::staging
