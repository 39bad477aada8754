#include "launcher/commands/data.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <nlohmann/json.hpp>
#include <optional>

#include "core/progress.h"
#include "core/text_table.h"
#include "core/units.h"
#include "launcher/commands/data_hdf5.h"
#include "staging/dataset/check_file.h"
#include "staging/dataset/dataset_files.h"
#include "staging/dataset/record_index.h"
#include "staging/formats/detect.h"
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

std::string Stored(std::string_view compression) { return std::string(compression == "none" ? "plain" : compression); }

class InfoReport {
 public:
  void Add(const fs::path& file) {
    staging::DetectFormat(file) == staging::DataFormat::kHdf5 ? AddHdf5(file) : AddRecords(file);
  }

  void Print(Output& output) const {
    const Json document = {{"schema", "slipway.data_info/1"}, {"records", records_}, {"files", files_}};
    output.Print({document, table_.Render(), std::to_string(records_)});
  }

 private:
  void AddHdf5(const fs::path& file) {
    const auto info = InfoOfHdf5(file);
    const Bytes size{fs::file_size(file)};
    table_.AddRow({file.string(), "hdf5", info.stored, "no", FormatBytes(size),
                   info.records ? std::to_string(*info.records) : "differ", info.fields});
    files_.push_back({{"path", file.string()},
                      {"format", "hdf5"},
                      {"compression", "none"},
                      {"index", false},
                      {"bytes", size.count},
                      {"records", info.records ? Json(*info.records) : Json()},
                      {"fields", info.field_list},
                      {"layout", info.layout},
                      {"others", info.others}});
    records_ += info.records.value_or(0);
  }

  void AddRecords(const fs::path& file) {
    const auto dataset = staging::Dataset::OpenFiles({file});
    const auto compression = staging::CompressionName(staging::DetectCompression(file));
    const bool indexed = fs::exists(file.parent_path() / staging::kRecordIndexName);
    const Bytes size{fs::file_size(file)};
    table_.AddRow({file.string(), std::string(DataFormatName(dataset.format())), Stored(compression),
                   indexed ? "yes" : "no", FormatBytes(size), std::to_string(dataset.record_count()),
                   FieldsText(dataset.fields())});
    files_.push_back({{"path", file.string()},
                      {"format", DataFormatName(dataset.format())},
                      {"compression", compression},
                      {"index", indexed},
                      {"bytes", size.count},
                      {"records", dataset.record_count()},
                      {"fields", FieldsDocument(dataset.fields())},
                      {"layout", Json::array()}});
    records_ += dataset.record_count();
  }

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
    document["records"] = verdict.checked.records ? Json(*verdict.checked.records) : Json();
    if (verdict.checked.format == staging::DataFormat::kHdf5) {
      document["checksums"] = VerificationDocument(verdict.checked.hdf5);
    }
  }
  return document;
}

/// A TFRecord has a checksum of every byte; HDF5 has them where its writer chose them.
std::string UnderChecksums(const staging::CheckedFile& checked) {
  return checked.format == staging::DataFormat::kHdf5 ? SummedText(checked.hdf5) : "all";
}

std::vector<std::string> GoodRow(const Verdict& verdict) {
  const auto& checked = verdict.checked;
  return {verdict.path.string(),
          std::string(DataFormatName(checked.format)),
          FormatBytes(Bytes{checked.bytes}),
          checked.records ? std::to_string(*checked.records) : "differ",
          UnderChecksums(checked),
          checked.hdf5.unread.empty() ? "ok" : "ok in part"};
}

std::string VerdictText(const std::vector<Verdict>& verdicts) {
  TextTable table({"file", "format", "size", "records", "under checksums", "verdict"});
  std::string reasons;
  for (const auto& verdict : verdicts) {
    if (verdict.error) {
      table.AddRow({verdict.path.string(), "-", "-", "-", "-", "bad"});
      reasons += fmt::format("bad: {}\n", verdict.error->what());
    } else {
      table.AddRow(GoodRow(verdict));
      reasons += UnreadText(verdict.path.string(), verdict.checked.hdf5);
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
