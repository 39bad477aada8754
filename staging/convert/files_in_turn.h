/// The files of a dataset as one row of records.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <vector>

#include "core/error.h"

namespace slipway::staging {

/// Opens the files one at a time. There may be more files than a process may have descriptors, and an inflated file is
/// held in memory. `File` is movable and has a record_count().
template <class File>
class FilesInTurn {
 public:
  using OpenFile = std::function<File(std::size_t number)>;
  struct Place {
    std::size_t number;    ///< of the file
    std::uint64_t record;  ///< counted in that file
  };

  /// Opens each once, to count its records. Errors: those of `open`; Error(kEnvironment): no records at all.
  FilesInTurn(std::vector<std::filesystem::path> paths, OpenFile open)
      : paths_(std::move(paths)), open_(std::move(open)) {
    for (std::size_t number = 0; number < paths_.size(); ++number) {
      Open(number);
      ends_.push_back(record_count() + file_->record_count());
    }
    if (record_count() == 0) {
      throw Error(ErrorKind::kEnvironment, fmt::format("'{}' has no records", paths_.at(0).string()),
                  "name files that hold records");
    }
  }

  std::uint64_t record_count() const { return ends_.empty() ? 0 : ends_.back(); }
  std::uint64_t first_of(std::size_t number) const { return number == 0 ? 0 : ends_[number - 1]; }
  const std::filesystem::path& path(std::size_t number) const { return paths_[number]; }

  Place Find(std::uint64_t record) const {
    const auto number = static_cast<std::size_t>(std::ranges::upper_bound(ends_, record) - ends_.begin());
    return {number, record - first_of(number)};
  }

  /// Valid until another file is asked for. Errors: those of `open`; Error(kEnvironment) when it has changed.
  File& At(std::size_t number) {
    if (file_ && opened_ == number) return *file_;
    Open(number);
    if (file_->record_count() == ends_[number] - first_of(number)) return *file_;
    throw Error(ErrorKind::kEnvironment, fmt::format("'{}' changed while it was read", paths_[number].string()),
                "start again when nothing writes to it any more");
  }

 private:
  void Open(std::size_t number) {
    file_.reset();
    file_.emplace(open_(number));
    opened_ = number;
  }

  std::vector<std::filesystem::path> paths_;
  OpenFile open_;
  std::vector<std::uint64_t> ends_;
  std::optional<File> file_;
  std::size_t opened_ = 0;
};

}  // namespace slipway::staging
