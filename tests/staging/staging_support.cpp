#include "tests/staging/staging_support.h"

#include <algorithm>
#include <cstdlib>

#include "core/crc32c.h"
#include "core/error.h"
#include "core/files.h"
#include "staging/generation/discover_tiers.h"
#include "staging/plan/tiers.h"

namespace slipway::staging {
namespace fs = std::filesystem;

TemporaryDirectory::TemporaryDirectory() : TemporaryDirectory(fs::canonical(fs::temp_directory_path())) {}

TemporaryDirectory::TemporaryDirectory(const fs::path& parent) {
  auto pattern = (parent / "slipway-staging-XXXXXX").string();
  if (::mkdtemp(pattern.data()) == nullptr) ThrowErrno("cannot create a temporary directory");
  path_ = pattern;
  fs::permissions(path_, fs::perms(0755));
}

TemporaryDirectory::~TemporaryDirectory() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

void Put(const fs::path& path, const std::string& content) {
  fs::create_directories(path.parent_path());
  WriteFile(path, content, 0644);
}

namespace {

void AppendLittleEndian(std::string& bytes, std::uint64_t value, int count) {
  for (int i = 0; i < count; ++i) bytes += static_cast<char>(value >> (8 * i) & 0xff);
}

void AppendRecord(std::string& bytes, const std::string& data) {
  std::string length;
  AppendLittleEndian(length, data.size(), 8);
  bytes += length;
  AppendLittleEndian(bytes, MaskCrc32c(Crc32c(length)), 4);
  bytes += data;
  AppendLittleEndian(bytes, MaskCrc32c(Crc32c(data)), 4);
}

}  // namespace

std::string TfrecordBytes(std::size_t count, std::size_t size) {
  std::string bytes;
  for (std::size_t i = 0; i < count; ++i) AppendRecord(bytes, std::string(size, static_cast<char>('a' + i % 26)));
  return bytes;
}

DatasetRequest RequestFor(const fs::path& source, const fs::path& root, DataFormat format) {
  DatasetRequest request;
  request.name = "train";
  request.sources = {source.string()};
  request.format = format;
  request.tiers = {"dir:" + root.string()};
  return request;
}

StagingPlan PlanFor(const DatasetRequest& request) {
  return PlanStaging(request, ListSources(request), DiscoverTiers(request.tiers));
}

std::vector<std::string> NamesOf(const fs::path& directory) {
  std::vector<std::string> names;
  if (!fs::exists(directory)) return names;
  for (const auto& entry : fs::directory_iterator(directory)) names.push_back(entry.path().filename().string());
  std::sort(names.begin(), names.end());
  return names;
}

std::string MessageOf(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.what();
  }
  return {};
}

}  // namespace slipway::staging
