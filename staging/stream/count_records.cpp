#include "staging/stream/count_records.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "core/error.h"
#include "core/files.h"
#include "core/share_out.h"
#include "staging/dataset/manifest.h"
#include "staging/foreign/foreign_hdf5.h"
#include "staging/formats/little_endian.h"
#include "staging/formats/table_file.h"
#include "staging/reader/inflated_files.h"
#include "staging/reader/record_file.h"

namespace slipway::staging {
namespace {

constexpr std::uint64_t kLargeRecord = 64 << 10;
constexpr std::size_t kFilesAtOnce = 16;

/// By the length of the first record, whatever it is worth.
bool HasLargeRecords(const SourceFile& file) {
  std::array<std::byte, 8> length{};
  const auto fd = OpenFile(file.path, O_RDONLY | O_NONBLOCK);
  if (TryReadAt(fd.get(), 0, length).bytes < length.size()) return true;
  return LoadLittleEndian<std::uint64_t>(std::span<const std::byte, 8>(length)) >= kLargeRecord;
}

std::uint64_t RowsOf(const SourceFile& file) {
  const ForeignHdf5 opened(file.path);
  if (const auto rows = CommonRows(opened.Datasets())) return *rows;
  throw Error(ErrorKind::kEnvironment, fmt::format("'{}' has no rows that all its datasets share", file.path.string()),
              "write the file again with one row for each record");
}

std::uint64_t Count(const SourceFile& file, DataFormat format) {
  if (format == DataFormat::kHdf5) return RowsOf(file);
  if (IsTableFormat(format)) return OpenTableFiles(format, {{file.path}}).front()->record_count();
  if (IsCompressed(file.path))
    throw Error(ErrorKind::kEnvironment, "compressed records are counted by inflating them", "decompress the files");
  DatasetFile plain;
  plain.path = file.path;
  InflatedFiles none(0);
  return RecordFile(plain, AccessPattern::kInOrder, none).record_count();
}

std::string HowToCount(const DatasetRequest& request) {
  if (request.format == DataFormat::kHdf5) {
    return "'slipway data info' shows its datasets: all must have one row for each record";
  }
  return fmt::format("leave data.{}.verify at format: then they are counted while they are checked", request.name);
}

}  // namespace

void CountRecords(StagingPlan& plan, CountWhen when, const std::function<bool()>& cancelled) {
  const auto format = plan.request.format;
  if (format == DataFormat::kRaw) return;
  std::atomic<bool> stopped = false;
  ShareOut(plan.files.size(), std::min(kFilesAtOnce, plan.files.size()), stopped, [&]() -> Worker {
    return [&](std::size_t index) {
      auto& file = plan.files[index];
      if (file.records) return;
      if (cancelled && cancelled()) throw Error(ErrorKind::kInterrupted, "counting records was cancelled");
      try {
        if (when == CountWhen::kCheap && format == DataFormat::kTfrecord && !HasLargeRecords(file)) return;
        file.records = Count(file, format);
      } catch (const Error&) {
        // Staging reads the whole file soon, and says what is wrong with it.
      }
    };
  });
}

std::uint64_t CountStaged(const StagingPlan& plan, const StagedDataset& staged,
                          const std::function<bool()>& cancelled) {
  if (const auto known = ParseManifest(ReadFile(staged.manifest)).TotalRecords()) return *known;
  auto copies = plan;
  for (auto& file : copies.files) {
    file.path = staged.directory / file.name;
    file.records.reset();
  }
  CountRecords(copies, CountWhen::kAlways, cancelled);
  std::uint64_t records = 0;
  for (const auto& file : copies.files) {
    if (!file.records) {
      throw Error(ErrorKind::kEnvironment, fmt::format("the records of '{}' cannot be counted", file.path.string()),
                  HowToCount(plan.request));
    }
    records += *file.records;
  }
  return records;
}

}  // namespace slipway::staging
