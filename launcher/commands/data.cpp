#include "launcher/commands/data.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <nlohmann/json.hpp>
#include <optional>

#include "core/progress.h"
#include "core/text_table.h"
#include "core/units.h"
#include "staging/dataset/check_file.h"
#include "staging/dataset/dataset_files.h"
#include "staging/dataset/record_index.h"
#include "staging/formats/detect.h"
#include "staging/formats/hdf5.h"
#include "staging/reader/reader.h"

namespace slipway::launcher {
namespace fs = std::filesystem;

namespace {

void RequirePaths(const std::vector<fs::path>& paths) {
  if (paths.empty()) throw Error(ErrorKind::kUsage, "name at least one file or directory");
}

// ---- info

std::string ShapeText(const staging::FieldInfo& field) {
  if (!field.shape.empty()) return fmt::format("{} {}", FeatureKindName(field.kind), fmt::join(field.shape, "x"));
  return fmt::format("{} {}", FeatureKindName(field.kind), field.count);
}

std::string FieldsText(const std::vector<staging::FieldInfo>& fields) {
  std::string text;
  for (const auto& field : fields) {
    text += fmt::format("{}{}: {}", text.empty() ? "" : ", ", field.name, ShapeText(field));
  }
  return text;
}

Json FieldsDocument(const std::vector<staging::FieldInfo>& fields) {
  Json list = Json::array();
  for (const auto& field : fields) {
    list.push_back(
        {{"name", field.name}, {"kind", FeatureKindName(field.kind)}, {"count", field.count}, {"shape", field.shape}});
  }
  return list;
}

/// "chunked 2x28x28, shuffle, deflate"
std::string LayoutText(const staging::Hdf5Layout& layout) {
  auto text = std::string(staging::Hdf5StorageName(layout.storage));
  if (!layout.chunk_shape.empty()) text += fmt::format(" {}", fmt::join(layout.chunk_shape, "x"));
  for (const auto& filter : layout.filters) text += ", " + filter.name;
  return text;
}

Json LayoutDocument(const staging::Hdf5Dataset& dataset, const staging::Hdf5Layout& layout) {
  Json filters = Json::array();
  for (const auto& filter : layout.filters) filters.push_back(filter.name);
  return {{"name", dataset.name},           {"type", NumberTypeName(dataset.type)},
          {"shape", dataset.shape},         {"storage", staging::Hdf5StorageName(layout.storage)},
          {"bytes", layout.bytes},          {"chunk_shape", layout.chunk_shape},
          {"chunks", layout.chunks.size()}, {"filters", filters}};
}

struct Layouts {
  std::string text;
  Json document = Json::array();
};

/// How each dataset of an HDF5 file is stored; nothing for another format.
Layouts LayoutsOf(const fs::path& path, staging::DataFormat format) {
  Layouts result;
  if (format != staging::DataFormat::kHdf5) return result;
  const auto file = staging::OpenHdf5(path);
  for (const auto& dataset : file->Datasets()) {
    const auto layout = file->Layout(dataset.name);
    result.text += fmt::format("{}{}: {} {}", result.text.empty() ? "" : "; ", dataset.name,
                               NumberTypeName(dataset.type), LayoutText(layout));
    result.document.push_back(LayoutDocument(dataset, layout));
  }
  return result;
}

std::string Stored(std::string_view compression) { return std::string(compression == "none" ? "plain" : compression); }

class InfoReport {
 public:
  void Add(const fs::path& file) {
    const auto dataset = staging::Dataset::OpenFiles({file});
    const auto format = staging::DataFormatName(dataset.format());
    const auto compression = staging::CompressionName(staging::DetectCompression(file));
    const bool indexed = fs::exists(file.parent_path() / staging::kRecordIndexName);
    const auto layouts = LayoutsOf(file, dataset.format());
    const Bytes size{fs::file_size(file)};
    table_.AddRow({file.string(), std::string(format), layouts.text.empty() ? Stored(compression) : layouts.text,
                   indexed ? "yes" : "no", FormatBytes(size), std::to_string(dataset.record_count()),
                   FieldsText(dataset.fields())});
    files_.push_back({{"path", file.string()},
                      {"format", format},
                      {"compression", compression},
                      {"index", indexed},
                      {"bytes", size.count},
                      {"records", dataset.record_count()},
                      {"fields", FieldsDocument(dataset.fields())},
                      {"layout", layouts.document}});
    records_ += dataset.record_count();
  }

  void Print(Output& output) const {
    const Json document = {{"schema", "slipway.data_info/1"}, {"records", records_}, {"files", files_}};
    output.Print({document, table_.Render(), std::to_string(records_)});
  }

 private:
  TextTable table_{{"file", "format", "stored", "index", "size", "records", "first record"}};
  Json files_ = Json::array();
  std::uint64_t records_ = 0;
};

// ---- verify

struct Verdict {
  fs::path path;
  staging::CheckedFile checked;
  std::optional<Error> error;
};

/// Runs `action`; its Error is the verdict on `path`.
template <class Action>
void Judge(std::vector<Verdict>& verdicts, const fs::path& path, Action&& action) {
  try {
    action();
  } catch (const Error& error) {
    verdicts.push_back({path, {}, error});
  } catch (const fs::filesystem_error& error) {
    verdicts.push_back({path, {}, SystemError(error.code().value(), fmt::format("cannot read '{}'", path.string()))});
  }
}

std::vector<staging::DatasetFile> FilesToVerify(const std::vector<fs::path>& paths, std::vector<Verdict>& verdicts) {
  std::vector<staging::DatasetFile> files;
  for (const auto& path : paths) {
    Judge(verdicts, path, [&] {
      const auto found = staging::FindDatasetFiles(path).files;
      files.insert(files.end(), found.begin(), found.end());
    });
  }
  return files;
}

Bytes TotalSize(const std::vector<staging::DatasetFile>& files) {
  Bytes total;
  for (const auto& file : files) {
    std::error_code missing;  // told when the file is read
    const auto size = fs::file_size(file.path, missing);
    if (!missing) total.count += size;
  }
  return total;
}

std::vector<Verdict> VerifyAll(const std::vector<fs::path>& paths, Output& output) {
  std::vector<Verdict> verdicts;
  const auto files = FilesToVerify(paths, verdicts);
  Progress progress(output, "verifying", TotalSize(files));
  Bytes done;
  for (const auto& file : files) {
    Judge(verdicts, file.path, [&] {
      const auto checked = staging::CheckFile(file, [&](std::uint64_t bytes) {
        done.count += bytes;
        progress.Update(done, file.path.filename().string());
      });
      verdicts.push_back({file.path, checked, {}});
    });
  }
  return verdicts;
}

Json VerdictDocument(const Verdict& verdict) {
  Json document = {{"path", verdict.path.string()}, {"ok", !verdict.error}};
  if (verdict.error) {
    document["error"] = ErrorDocument(*verdict.error);
  } else {
    document["format"] = DataFormatName(verdict.checked.format);
    document["bytes"] = verdict.checked.bytes;
    document["records"] = verdict.checked.records;
  }
  return document;
}

std::string VerdictText(const std::vector<Verdict>& verdicts) {
  TextTable table({"file", "format", "size", "records", "verdict"});
  std::string reasons;
  for (const auto& verdict : verdicts) {
    if (verdict.error) {
      table.AddRow({verdict.path.string(), "-", "-", "-", "bad"});
      reasons += fmt::format("bad: {}\n", verdict.error->what());
    } else {
      table.AddRow({verdict.path.string(), std::string(DataFormatName(verdict.checked.format)),
                    FormatBytes(Bytes{verdict.checked.bytes}), std::to_string(verdict.checked.records), "ok"});
    }
  }
  return table.Render() + reasons;
}

std::string BadPaths(const std::vector<Verdict>& verdicts) {
  std::string paths;
  for (const auto& verdict : verdicts) {
    if (verdict.error) paths += verdict.path.string() + "\n";
  }
  return paths;
}

}  // namespace

int DataInfo(const DataInfoOptions& options, Output& output) {
  RequirePaths(options.paths);
  InfoReport report;
  for (const auto& path : options.paths) {
    for (const auto& file : staging::FindDatasetFiles(path).files) report.Add(file.path);
  }
  report.Print(output);
  return 0;
}

int DataVerify(const DataVerifyOptions& options, Output& output) {
  RequirePaths(options.paths);
  const auto verdicts = VerifyAll(options.paths, output);
  Json files = Json::array();
  for (const auto& verdict : verdicts) files.push_back(VerdictDocument(verdict));
  const auto bad = BadPaths(verdicts);
  const Json document = {{"schema", "slipway.data_verify/1"}, {"ok", bad.empty()}, {"files", files}};
  output.Print({document, VerdictText(verdicts), bad});
  for (const auto& verdict : verdicts) {
    if (!verdict.error && verdict.checked.records == 0) {
      output.Warn(fmt::format("'{}' is intact but has no records", verdict.path.string()));
    }
  }
  return bad.empty() ? 0 : static_cast<int>(ErrorKind::kFailed);
}

}  // namespace slipway::launcher
