#include "staging/generation/found_files.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <system_error>

#include "core/files.h"
#include "staging/dataset/manifest.h"
#include "staging/plan/source_manifests.h"
#include "staging/plan/source_stat.h"

namespace slipway::staging {
namespace fs = std::filesystem;
namespace {

std::string WordsFor(int error) { return error == ENOENT ? "it is not there" : std::generic_category().message(error); }

/// What others could still write to is not worth checking.
std::string WhyNotTaken(const SourceFile& file, const struct stat& info) {
  if (!S_ISREG(info.st_mode)) return "it is no regular file";
  if (info.st_uid != ::geteuid()) return "it belongs to another user";
  if (info.st_nlink != 1) return "it has another name as well";
  const Bytes size{static_cast<std::uint64_t>(info.st_size)};
  if (size != file.size) return fmt::format("it has {} bytes, its source has {}", size.count, file.size.count);
  return {};
}

/// Returns why not.
std::string Move(const SourceFile& file, const fs::path& from, const fs::path& to) {
  struct stat info {};
  if (::lstat(from.c_str(), &info) != 0) return WordsFor(errno);
  if (auto reason = WhyNotTaken(file, info); !reason.empty()) return reason;
  if (::rename(from.c_str(), to.c_str()) != 0) return WordsFor(errno);
  return ::chmod(to.c_str(), kFileMode) == 0 ? "" : WordsFor(errno);
}

KeptFile Judged(const StagingPlan& plan, const SourceFile& file, bool of_these_sources, const ManifestFile* promise) {
  const auto blocks = CrcBlocksOf(file.size);
  const bool noted = promise != nullptr && promise->crc32c.size() == blocks;
  KeptFile kept;
  kept.ctime_ns = StatSource(file.path.native()).ctime_ns;
  kept.found = BasisFor(plan.request, of_these_sources, noted);
  kept.crc32c.resize(blocks);
  if (kept.found == FoundBasis::kNoted) kept.crc32c.assign(promise->crc32c.begin(), promise->crc32c.end());
  return kept;
}

bool IsOfEarlierRun(const KeptFile& kept) { return !kept.crc32c.empty(); }

}  // namespace

FoundBasis BasisFor(const DatasetRequest& request, bool of_these_sources, bool noted) {
  if (noted) return FoundBasis::kNoted;
  const bool sums_itself = request.format == DataFormat::kTfrecord && request.verify == VerifyMode::kFormat;
  return sums_itself && of_these_sources ? FoundBasis::kFormat : FoundBasis::kSource;
}

Bytes SizeOfFound(const StagingPlan& plan, const FoundFiles& found) {
  Bytes sum;
  if (found.directory.empty()) return sum;
  for (const auto& file : plan.files) {
    struct stat info {};
    const bool there = ::lstat((found.directory / file.name).c_str(), &info) == 0;
    if (there && WhyNotTaken(file, info).empty()) sum.count += file.size.count;
  }
  return sum;
}

std::vector<std::string> TakeOver(const StagingPlan& plan, const FoundFiles& found, const fs::path& directory,
                                  std::vector<KeptFile>& kept) {
  if (found.directory.empty()) return {};
  std::vector<std::string> refused(plan.files.size());
  kept.resize(plan.files.size());
  SourceManifests manifests;
  for (std::size_t i = 0; i < plan.files.size(); ++i) {
    const auto& file = plan.files[i];
    if (IsOfEarlierRun(kept[i])) continue;
    refused[i] = Move(file, found.directory / file.name, directory / file.name);
    if (refused[i].empty()) kept[i] = Judged(plan, file, found.of_these_sources, manifests.Find(file));
  }
  return refused;
}

std::vector<MendedFile> MendedFiles(const StagingPlan& plan, const std::vector<std::string>& refused,
                                    const std::vector<CopiedFile>& copied) {
  std::vector<MendedFile> mended;
  for (std::size_t i = 0; i < plan.files.size(); ++i) {
    const auto reason = refused.empty() || refused[i].empty() ? copied[i].mended.view() : refused[i];
    if (!reason.empty()) mended.push_back({plan.files[i].name.string(), std::string(reason)});
  }
  return mended;
}

}  // namespace slipway::staging
