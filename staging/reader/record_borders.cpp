#include "staging/reader/record_borders.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/error.h"

namespace slipway::staging {

void RecordBorders::AddFile(const std::filesystem::path& path, std::uint64_t records) {
  std::uint64_t end = 0;
  if (__builtin_add_overflow(count(), records, &end)) {
    throw Error(ErrorKind::kEnvironment,
                fmt::format("'{}' has {} records: with the {} of the files before that is more than can be counted",
                            path.string(), records, count()),
                "the file is damaged: copy it again from its source");
  }
  ends_.push_back(end);
}

RecordBorders::Place RecordBorders::Find(std::uint64_t record) const {
  const auto file = static_cast<std::size_t>(std::ranges::upper_bound(ends_, record) - ends_.begin());
  return {file, record - FirstOf(file)};
}

}  // namespace slipway::staging
