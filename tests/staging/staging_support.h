/// Real files for the staging tests.
#pragma once


#include <cstddef>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "staging/plan/plan.h"
#include "tests/support/flip_bit.h"
#include "tests/support/privileges.h"

namespace slipway::staging {

/// A directory under the system's temporary directory, or `parent`; removed with all it holds. Other users may enter
/// it.
class TemporaryDirectory {
 public:
  TemporaryDirectory();
  explicit TemporaryDirectory(const std::filesystem::path& parent);
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;
  ~TemporaryDirectory();
  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path operator/(const std::filesystem::path& name) const { return path_ / name; }

 private:
  std::filesystem::path path_;
};

/// Writes a file, and the directories above it.
void Put(const std::filesystem::path& path, const std::string& content);
/// `count` records of `size` bytes each, framed as TFRecord.
std::string TfrecordBytes(std::size_t count, std::size_t size);
using test::FlipBit;

/// A request for `source` in the tier `dir:root`.
DatasetRequest RequestFor(const std::filesystem::path& source, const std::filesystem::path& root, DataFormat format);
/// Lists, discovers and plans.
StagingPlan PlanFor(const DatasetRequest& request);

/// What a directory holds, as sorted names; nothing when it does not exist.
std::vector<std::string> NamesOf(const std::filesystem::path& directory);

using test::AsOrdinaryUser;
using test::EnterOwnNamespaces;
using test::InChild;
using test::MountSmallDisk;
using test::Succeeded;

/// What the error says, or "" when `action` throws none.
std::string MessageOf(const std::function<void()>& action);

}  // namespace slipway::staging
