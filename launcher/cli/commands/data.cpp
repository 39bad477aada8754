#include "launcher/cli/commands/data.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>

#include "core/progress.h"
#include "core/text_table.h"
#include "core/units.h"
#include "launcher/cli/commands/data_fields.h"
#include "launcher/cli/commands/data_hdf5.h"
#include "launcher/cli/commands/left_out.h"
#include "staging/dataset/check_file.h"
#include "staging/dataset/dataset_files.h"
#include "staging/dataset/first_record.h"
#include "staging/dataset/record_index.h"
#include "staging/dataset/utf8_name.h"
#include "staging/formats/detect.h"

namespace slipway::launcher {
namespace fs = std::filesystem;

namespace {

void RequirePaths(const std::vector<fs::path>& paths) {
  if (paths.empty())
    throw Error(ErrorKind::kUsage, "no file or directory is named", "name at least one file or directory");
}

// ---- info

/// "label: int64 1", or "SequenceExample, context/label: int64 1, lists/frames: bytes 12".
std::string FirstRecordText(const staging::FirstRecord& first) {
  const auto kind = first.kind.value_or(staging::RecordKind::kExample);
  std::string text(kind == staging::RecordKind::kExample ? "" : WordOf(kind));
  for (const auto& field : first.fields) text += (text.empty() ? "" : ", ") + FieldInfoText(field);
  return text;
}

Json FieldsDocument(const std::vector<staging::FieldInfo>& fields) {
  Json list = Json::array();
  for (const auto& field : fields) list.push_back(FieldInfoDocument(field));
  return list;
}

std::string Stored(std::string_view compression) { return std::string(compression == "none" ? "plain" : compression); }

/// What is wrong with a file does not hide the others.
class InfoReport {
 public:
  void Add(const fs::path& file) try {
    staging::DetectFormat(file) == staging::DataFormat::kHdf5 ? AddHdf5(file) : AddRecords(file);
  } catch (const Error& error) {
    AddBad(file, error);
  } catch (const fs::filesystem_error& error) {
    AddBad(file, SystemError(error.code().value(), fmt::format("cannot read '{}'", file.string())));
  }

  void AddBad(const fs::path& file, const Error& error) {
    table_.AddRow({file.string(), "-", "-", "-", "-", "-", "unreadable"});
    files_.push_back({{"path", staging::Utf8Name(file.native())}, {"error", ErrorDocument(error)}});
    reasons_ += fmt::format("unreadable: {}\n", error.what());
    ++bad_;
  }

  void AddLeftOut(const std::vector<staging::LeftOutFile>& files) {
    left_out_.insert(left_out_.end(), files.begin(), files.end());
  }

  /// Returns the exit code.
  int Print(Output& output) const {
    const Json document = {{"schema", "slipway.data_info/1"},
                           {"records", records_},
                           {"files", files_},
                           {"left_out", staging::ToJson(std::span(left_out_))}};
    output.Print({document, table_.Render() + reasons_, std::to_string(records_)});
    WarnOfLeftOut("data info", left_out_, files_.size(), output);
    if (bad_ > 0) output.Warn(fmt::format("{} of {} files cannot be read as data", bad_, files_.size()));
    return bad_ == 0 ? 0 : static_cast<int>(ErrorKind::kFailed);
  }

 private:
  void AddHdf5(const fs::path& file) {
    const auto info = InfoOfHdf5(file);
    const Bytes size{fs::file_size(file)};
    table_.AddRow({file.string(), "hdf5", info.stored, "no", FormatBytes(size),
                   info.records ? std::to_string(*info.records) : "differ", info.fields});
    files_.push_back({{"path", staging::Utf8Name(file.native())},
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
    const auto first = staging::ReadFirstRecord(file);
    const auto format = WordOf(first.format);
    const auto compression = WordOf(staging::DetectCompression(file));
    const bool indexed = fs::exists(file.parent_path() / staging::kRecordIndexName);
    const Bytes size{fs::file_size(file)};
    table_.AddRow({file.string(), std::string(format), Stored(compression), indexed ? "yes" : "no", FormatBytes(size),
                   std::to_string(first.records), FirstRecordText(first)});
    files_.push_back({{"path", staging::Utf8Name(file.native())},
                      {"format", format},
                      {"compression", compression},
                      {"index", indexed},
                      {"bytes", size.count},
                      {"records", first.records},
                      {"record_kind", first.kind ? Json(WordOf(*first.kind)) : Json()},
                      {"fields", FieldsDocument(first.fields)},
                      {"layout", Json::array()}});
    records_ += first.records;
  }

  TextTable table_{{"file", "format", "stored", "index", "size", "records", "first record"}};
  Json files_ = Json::array();
  std::vector<staging::LeftOutFile> left_out_;
  std::string reasons_;
  std::uint64_t records_ = 0;
  std::size_t bad_ = 0;
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

staging::DatasetFiles FilesToVerify(const std::vector<fs::path>& paths, std::vector<Verdict>& verdicts) {
  staging::DatasetFiles all;
  for (const auto& path : paths) {
    Judge(verdicts, path, [&] {
      auto found = staging::FindDatasetFiles(path, staging::FolderReading::kEveryFile);
      std::ranges::move(found.files, std::back_inserter(all.files));
      std::ranges::move(found.left_out, std::back_inserter(all.left_out));
      std::ranges::move(found.leases, std::back_inserter(all.leases));
    });
  }
  return all;
}

Bytes TotalSize(const std::vector<staging::DatasetFile>& files) {
  Bytes total;
  for (const auto& file : files) {
    std::error_code missing;  // reported when the file is read
    const auto size = fs::file_size(file.path, missing);
    if (!missing) total.count += size;
  }
  return total;
}

struct Verification {
  std::vector<Verdict> verdicts;
  std::vector<staging::LeftOutFile> left_out;
};

Verification VerifyAll(const std::vector<fs::path>& paths, Output& output) {
  Verification result;
  auto all = FilesToVerify(paths, result.verdicts);
  Progress progress(output, "verifying", TotalSize(all.files));
  Bytes done;
  for (const auto& file : all.files) {
    Judge(result.verdicts, file.path, [&] {
      const auto checked = staging::CheckFile(file, [&](std::uint64_t bytes) {
        done.count += bytes;
        progress.Update(done, file.path.filename().string());
      });
      result.verdicts.push_back({file.path, checked, {}});
    });
  }
  result.left_out = std::move(all.left_out);
  return result;
}

Json VerdictDocument(const Verdict& verdict) {
  Json document = {{"path", verdict.path.string()}, {"ok", !verdict.error}};
  if (verdict.error) {
    document["error"] = ErrorDocument(*verdict.error);
  } else {
    document["format"] = WordOf(verdict.checked.format);
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
          std::string(WordOf(checked.format)),
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
    const auto found = staging::FindDatasetFiles(path, staging::FolderReading::kEveryFile);
    for (const auto& file : found.files) report.Add(file.path);
    report.AddLeftOut(found.left_out);
  }
  return report.Print(output);
}

int DataVerify(const DataVerifyOptions& options, Output& output) {
  RequirePaths(options.paths);
  const auto [verdicts, left_out] = VerifyAll(options.paths, output);
  Json files = Json::array();
  for (const auto& verdict : verdicts) files.push_back(VerdictDocument(verdict));
  const auto bad = BadPaths(verdicts);
  const Json document = {{"schema", "slipway.data_verify/1"},
                         {"ok", bad.empty()},
                         {"files", files},
                         {"left_out", staging::ToJson(std::span(left_out))}};
  output.Print({document, VerdictText(verdicts), bad});
  WarnOfLeftOut("data verify", left_out, verdicts.size(), output);
  for (const auto& verdict : verdicts) {
    if (!verdict.error && verdict.checked.records == 0) {
      output.Warn(fmt::format("'{}' is intact but has no records", verdict.path.string()));
    }
  }
  return bad.empty() ? 0 : static_cast<int>(ErrorKind::kFailed);
}

}  // namespace slipway::launcher
