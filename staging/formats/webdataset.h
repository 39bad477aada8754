/// Samples of a WebDataset: members of a tar archive that follow each other and share a key.
///
/// The key of `train/0001.seg.png` is `train/0001`, its field `seg.png`: the first dot of the name divides them.
/// Source: webdataset 0.2, tariterators.py, base_plus_ext and group_by_keys.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "staging/formats/record_places.h"
#include "staging/formats/tar.h"

namespace slipway::staging {

inline constexpr std::string_view kSampleKeyField = "__key__";

/// What the name of a field says about its bytes: a number as text; an array as numpy.save writes it.
bool HoldsInteger(std::string_view field);
bool HoldsArray(std::string_view field);

struct SamplePart {
  std::string field;
  std::uint64_t data_at = 0;  ///< bytes of the archive
  std::uint64_t size = 0;
};

struct WebdatasetSample {
  std::string key;
  ByteRange bytes;                ///< from its first header to behind the last block of its last member
  std::vector<SamplePart> parts;  ///< sorted by field
};

/// Groups members into samples. Members whose names begin with "__" are of the archive, and do not count.
/// Errors: Error(kEnvironment) naming archive, byte and member: those of TarMembers; a name without a dot; a key that
///         returns after another one; one field twice in a sample; a sample with other fields than the first one.
class WebdatasetSamples {
 public:
  using OnSample = std::function<void(WebdatasetSample sample)>;

  /// `begin`: as of TarMembers.
  WebdatasetSamples(std::filesystem::path archive, OnSample on_sample, std::uint64_t begin = 0);

  void Update(std::span<const std::byte> bytes) { members_.Update(bytes); }
  /// Feeds a file of `size` bytes; contents that are longer than a block of reading are skipped.
  void Scan(int fd, std::uint64_t size);
  void Finish();
  /// Feeds the headers between these bytes of a file, which hold whole samples.
  void ScanSamples(int fd, ByteRange range);

 private:
  void Feed(int fd, ByteRange range, std::uint64_t block_bytes);
  void Add(TarMember member);
  void AddPart(const TarMember& member, std::string field);
  void EndSample();
  void RequireFieldsOfFirst() const;
  [[noreturn]] void Throw(std::uint64_t at, std::string what, std::string next) const;

  std::filesystem::path archive_;
  OnSample on_sample_;
  TarMembers members_;
  WebdatasetSample sample_;
  std::vector<std::string> fields_;  ///< of the first sample, sorted
  std::unordered_set<std::string> keys_;
};

/// The sample that lies alone between these bytes of the file `fd`. Cost: a small read for each header.
/// Errors: those of WebdatasetSamples; Error(kEnvironment) for none, or several.
WebdatasetSample ReadSample(int fd, ByteRange range, const std::filesystem::path& archive);

/// The key of the sample whose first header begins at byte `at`, from this header alone. Errors: as above.
std::string ReadSampleKey(int fd, std::uint64_t at, const std::filesystem::path& archive);

}  // namespace slipway::staging
