/// Samples of a WebDataset: members of a tar archive that follow each other and share a key.
///
/// The key of `train/0001.seg.png` is `train/0001`, its field `seg.png`: the first dot of the name divides them.
/// Source: webdataset 0.2, tariterators.py, base_plus_ext and group_by_keys.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <unordered_set>
#include <vector>

#include "staging/formats/tar.h"

namespace slipway::staging {

struct SamplePart {
  std::string field;
  std::uint64_t data_at = 0;  ///< bytes of the archive
  std::uint64_t size = 0;
};

struct WebdatasetSample {
  std::string key;
  std::uint64_t begin = 0;        ///< of its first header
  std::uint64_t end = 0;          ///< behind the last block of its last member
  std::vector<SamplePart> parts;  ///< sorted by field
};

/// Groups members into samples. Members whose names begin with "__" are of the archive, and do not count.
/// Errors: Error(kEnvironment) naming archive, byte and member: those of TarMembers; a name without a dot; a key that
///         returns after another one; one field twice in a sample; a sample with other fields than the first one.
class WebdatasetSamples {
 public:
  using OnSample = std::function<void(WebdatasetSample sample)>;

  WebdatasetSamples(std::filesystem::path archive, OnSample on_sample);

  void Update(std::span<const std::byte> bytes) { members_.Update(bytes); }
  /// Feeds a file of `size` bytes; contents that are longer than a block of reading are skipped.
  void Scan(int fd, std::uint64_t size);
  void Finish();

 private:
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

}  // namespace slipway::staging
