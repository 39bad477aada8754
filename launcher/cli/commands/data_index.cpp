// `slipway data index`: where the records of TFRecord files and WebDataset shards begin.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "core/crc32c.h"
#include "core/files.h"
#include "core/text_table.h"
#include "core/units.h"
#include "launcher/cli/commands/data.h"
#include "launcher/cli/commands/left_out.h"
#include "staging/dataset/dataset_files.h"
#include "staging/dataset/manifest.h"
#include "staging/dataset/record_index.h"
#include "staging/formats/stream_check.h"

namespace slipway::launcher {
namespace fs = std::filesystem;
namespace {

struct IndexedFile {
  fs::path path;
  staging::RecordIndex index;
};

std::vector<IndexedFile> IndexFiles(const staging::DatasetFiles& dataset, Output& output) {
  std::vector<IndexedFile> files;
  for (const auto& listed : dataset.files) {
    output.Progress(fmt::format("reading  {}", listed.path.filename().string()));
    const auto check = staging::MakeStreamCheck(dataset.format, listed.path);
    staging::FeedFile(listed.path, *check);
    auto summary = check->Finish();
    files.push_back({listed.path, {std::move(summary.record_offsets), summary.record_bytes}});
  }
  output.Progress("");
  return files;
}

std::string Encode(const std::vector<IndexedFile>& files) {
  std::vector<staging::RecordIndex> indices;
  for (const auto& file : files) indices.push_back(file.index);
  return staging::EncodeRecordIndices(indices);
}

struct Lengths {
  std::uint64_t least = 0;
  std::uint64_t most = 0;
};

/// With the frame of a TFRecord, with the headers of a sample.
Lengths LengthsOf(const staging::RecordIndex& index) {
  Lengths result;
  for (std::size_t i = 0; i < index.offsets.size(); ++i) {
    const auto next = i + 1 < index.offsets.size() ? index.offsets[i + 1] : index.end;
    const auto length = next - index.offsets[i];
    result.least = i == 0 ? length : std::min(result.least, length);
    result.most = std::max(result.most, length);
  }
  return result;
}

void Write(const DataIndexOptions& options, const std::string& encoded) {
  if (!fs::is_directory(options.path)) {
    throw Error(ErrorKind::kUsage, fmt::format("'{}' is no directory", options.path.string()),
                "an index is written for all files of a dataset: name its directory");
  }
  if (fs::exists(options.path / staging::kManifestName)) {
    throw Error(ErrorKind::kUsage, fmt::format("'{}' is a staged dataset", options.path.string()),
                "its index was written when it was staged and belongs to its manifest");
  }
  WriteFileDurably(options.path / staging::kRecordIndexName, encoded);
}

/// "none", "same" or "other".
std::string_view CompareStored(const fs::path& path, const std::string& encoded) {
  const auto directory = fs::is_directory(path) ? path : path.parent_path();
  const auto stored = ReadFileIfPresent(directory / staging::kRecordIndexName);
  if (!stored || !fs::is_directory(path)) return "none";
  return *stored == encoded ? "same" : "other";
}

void Print(const std::vector<IndexedFile>& files, const std::string& encoded, std::string_view stored, Output& output) {
  TextTable table({"file", "records", "size", "smallest record", "largest record"});
  Json list = Json::array();
  std::uint64_t records = 0;
  for (const auto& file : files) {
    const auto lengths = LengthsOf(file.index);
    const auto count = file.index.offsets.size();
    records += count;
    table.AddRow({file.path.string(), std::to_string(count), FormatBytes(Bytes{file.index.end}),
                  FormatBytes(Bytes{lengths.least}), FormatBytes(Bytes{lengths.most})});
    list.push_back({{"path", file.path.string()},
                    {"records", count},
                    {"bytes", file.index.end},
                    {"smallest_record", lengths.least},
                    {"largest_record", lengths.most}});
  }
  const Json document = {{"schema", "slipway.data_index/1"},
                         {"records", records},
                         {"index", {{"bytes", encoded.size()}, {"crc32c", fmt::format("{:08x}", Crc32c(encoded))}}},
                         {"stored", stored},
                         {"files", list}};
  output.Print(
      {document,
       table.Render() + fmt::format("index: {}, beside the files: {}\n", FormatBytes(Bytes{encoded.size()}), stored),
       std::to_string(records)});
}

}  // namespace

int DataIndex(const DataIndexOptions& options, Output& output) {
  const auto dataset = staging::FindDatasetFiles(options.path);
  if (!staging::HasRecordIndex(dataset.format)) {
    throw Error(ErrorKind::kUsage,
                fmt::format("'{}' is {}: only TFRecord files and WebDataset shards have an index",
                            options.path.string(), WordOf(dataset.format)),
                "name a directory of such files");
  }
  const auto files = IndexFiles(dataset, output);
  const auto encoded = Encode(files);
  if (options.write) Write(options, encoded);
  const auto stored = CompareStored(options.path, encoded);
  Print(files, encoded, stored, output);
  WarnOfLeftOut(options.path.string(), dataset.left_out, dataset.files.size(), output);
  return stored == "other" ? static_cast<int>(ErrorKind::kFailed) : 0;
}

}  // namespace slipway::launcher
