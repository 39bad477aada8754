#include "staging/generation/verify.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <mutex>
#include <span>

#include "core/crc32c.h"
#include "core/error.h"
#include "core/files.h"
#include "core/share_out.h"
#include "staging/copy/medium.h"
#include "staging/dataset/listing.h"
#include "staging/dataset/manifest.h"
#include "staging/dataset/record_index.h"

namespace slipway::staging {
namespace fs = std::filesystem;
namespace {

/// The format's own check beside the CRCs. What it objects to is kept, not thrown: the blocks are compared to the end.
class FormatCheck {
 public:
  FormatCheck(const Manifest& manifest, const fs::path& path)
      : check_(MakeStreamCheck(manifest.format, manifest.verify, path)) {}

  void Update(std::span<const std::byte> bytes) {
    Try([&] { check_->Update(bytes); });
  }
  /// What is wrong, or "".
  std::string Finish(const std::optional<std::uint64_t>& records) {
    StreamSummary found;
    Try([&] { found = check_->Finish(); });
    if (!objection_.empty() || !records || found.records == records) return objection_;
    return fmt::format("it has {} records, the manifest says {}", found.records.value_or(0), *records);
  }

 private:
  template <class Action>
  void Try(Action&& action) {
    if (!objection_.empty()) return;
    try {
      action();
    } catch (const Error& error) {
      objection_ = error.message();
    }
  }

  std::unique_ptr<StreamCheck> check_;
  std::string objection_;
};

Damage BadBlock(const ManifestFile& file, std::uint64_t block) {
  const auto offset = block * kCrcBlock;
  const auto length = std::min<std::uint64_t>(kCrcBlock, file.bytes.count - std::min(file.bytes.count, offset));
  return {file.path, offset, Bytes{length}, "its bytes are not those that were staged (CRC32C)"};
}

/// What is wrong before its bytes are read, or "".
std::string ObjectionTo(const fs::path& path, const ManifestFile& file) {
  if (!StaysInside(file.path)) return "its name leads out of the generation";
  std::error_code error;
  const auto size = fs::file_size(path, error);
  if (error) return error.message();
  if (size != file.bytes.count) return fmt::format("it has {} bytes, the manifest says {}", size, file.bytes.count);
  return {};
}

using OnPiece = std::function<void(std::span<const std::byte>)>;

std::vector<Damage> DamageTo(const Manifest& manifest, const ManifestFile& file, const fs::path& path,
                             const OnPiece& on_piece) {
  if (auto objection = ObjectionTo(path, file); !objection.empty()) return {{file.path, 0, {}, std::move(objection)}};
  if (file.crc32c.empty() && file.bytes.count != 0) return {};
  FormatCheck check(manifest, path);
  const auto wrong = WrongBlocks(path, file.crc32c, [&](std::span<const std::byte> piece) {
    check.Update(piece);
    on_piece(piece);
  });
  std::vector<Damage> damage;
  for (const auto block : wrong) damage.push_back(BadBlock(file, block));
  auto objection = check.Finish(file.records);
  if (damage.empty() && !objection.empty()) damage.push_back({file.path, 0, {}, std::move(objection)});
  return damage;
}

/// A file that cannot be read is damage to it, not the end of the verification.
std::vector<Damage> DamageOrFailure(const Manifest& manifest, const ManifestFile& file, const fs::path& path,
                                    const OnPiece& on_piece) {
  try {
    return DamageTo(manifest, file, path, on_piece);
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::kInterrupted) throw;
    return {{file.path, 0, {}, error.message()}};
  }
}

std::vector<Damage> DamageToIndex(const Manifest& manifest, const fs::path& directory) {
  if (!manifest.index) return {};
  if (manifest.index->path != kRecordIndexName) return {{manifest.index->path, 0, {}, "this is not the index's name"}};
  const auto text = ReadFileIfPresent(directory / kRecordIndexName);
  if (!text) return {{manifest.index->path, 0, {}, "it is not there"}};
  if (Bytes{text->size()} == manifest.index->bytes && Crc32c(*text) == manifest.index->crc32c) return {};
  return {{manifest.index->path, 0, {}, "its bytes are not those that were staged (CRC32C)"}};
}

/// Calls the caller's function from many threads, one at a time.
class Teller {
 public:
  Teller(const Manifest& manifest, const std::function<void(const StageProgress&)>& progress)
      : progress_(progress), total_(manifest.TotalBytes()) {}
  void Advance(std::uint64_t bytes, const ManifestFile& file) {
    const std::lock_guard guard(mutex_);
    done_.count += bytes;
    if (progress_) progress_({done_, total_, file.path});
  }
  Bytes done() const { return done_; }

 private:
  const std::function<void(const StageProgress&)>& progress_;
  const Bytes total_;
  std::mutex mutex_;
  Bytes done_;
};

}  // namespace

Verification VerifyGeneration(const fs::path& directory, const std::function<void(const StageProgress&)>& progress) {
  const auto manifest = ParseManifest(ReadFile(directory / kManifestName));
  std::vector<std::vector<Damage>> damage(manifest.files.size());
  Teller teller(manifest, progress);
  std::atomic<bool> stopped{false};
  ShareOut(manifest.files.size(), std::min<std::size_t>(4, UsableProcessors()), stopped, [&]() -> Worker {
    return [&](std::size_t i) {
      const auto& file = manifest.files[i];
      damage[i] = DamageOrFailure(manifest, file, directory / file.path,
                                  [&](std::span<const std::byte> piece) { teller.Advance(piece.size(), file); });
    };
  });
  Verification result{manifest.generation, manifest.files.size(), teller.done(), DamageToIndex(manifest, directory)};
  for (auto& of_file : damage) result.damage.insert(result.damage.end(), of_file.begin(), of_file.end());
  return result;
}

}  // namespace slipway::staging
