/// A file of a source that is cut into shards: where its records lie, byte for byte.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "staging/dataset/dataset_files.h"
#include "staging/formats/record_places.h"

namespace slipway::staging {

class ShardPart {
 public:
  virtual ~ShardPart() = default;

  virtual std::uint64_t record_count() const = 0;
  /// The bytes of records [begin, end), begin < end. Errors: Error(kEnvironment) for records that are damaged.
  virtual ByteRange CheckedRange(std::uint64_t begin, std::uint64_t end) const = 0;
  /// Whether these are places in the file itself, so that the kernel may copy them.
  virtual bool IsPlain() const = 0;
  virtual std::span<const std::byte> Bytes(ByteRange range, std::vector<std::byte>& buffer) const = 0;
};

/// TFRecord: both CRCs of every record are checked. WebDataset: the headers of the samples.
/// Errors: Error(kEnvironment): damaged, other numbers than the manifest's.
std::unique_ptr<ShardPart> OpenShardPart(DataFormat format, const DatasetFile& file);

/// Whether files of this format are cut at the borders of records.
bool IsCutByRecords(DataFormat format);
/// What ends every file of the format.
std::string_view EndOfShard(DataFormat format);
/// Checks that the file has `records`, where putting records together can break it: keys of samples that two files
/// have. `name` is for messages. Errors: Error(kEnvironment).
void CheckShard(DataFormat format, const std::filesystem::path& file, const std::filesystem::path& name,
                std::uint64_t records);

}  // namespace slipway::staging
