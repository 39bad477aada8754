/// What compressed TFRecord files inflate to, for as long as there is memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <span>

#include "core/error.h"
#include "staging/formats/growing_memory.h"

namespace slipway::staging {

/// A cache that several threads share; the files used last stay. What does not fit is inflated again, so records of
/// large compressed files should be read in windowed order.
class InflatedFiles {
 public:
  using Content = std::shared_ptr<const GrowingMemory>;

  explicit InflatedFiles(std::uint64_t most_bytes) : most_bytes_(most_bytes) {}

  /// The records of a file; it is checked as a whole while it is inflated, once for all threads that wait for it.
  /// Errors: Error(kEnvironment) naming the file; what does not inflate stays an error while it is in the cache.
  Content Get(const std::filesystem::path& path);

 private:
  struct Entry {
    std::filesystem::path path;
    std::mutex inflating;
    Content content;
    std::optional<Error> error;  ///< every caller gets a copy
  };

  std::shared_ptr<Entry> Find(const std::filesystem::path& path);
  void Shrink();

  std::uint64_t most_bytes_;
  std::mutex mutex_;
  std::list<std::shared_ptr<Entry>> entries_;  ///< the last used first
};

}  // namespace slipway::staging
