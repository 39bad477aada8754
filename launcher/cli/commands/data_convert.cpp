// `slipway data convert`, `reshard` and `make`: all make new files and list them.
#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string_view>

#include "core/interrupt.h"
#include "core/share_out.h"
#include "core/units.h"
#include "launcher/cli/commands/data.h"
#include "launcher/cli/commands/left_out.h"
#include "staging/convert/convert.h"
#include "staging/convert/reshard.h"
#include "staging/make/make_data.h"

namespace slipway::launcher {
namespace {

staging::DataFormat TargetFormat(const std::string& word) {
  const auto format = FromWord<staging::DataFormat>(word);
  if (format && staging::IsTargetOfConvert(*format)) return *format;
  throw Error(ErrorKind::kUsage, fmt::format("cannot convert to '{}'", word), "use tfrecord, hdf5 or webdataset");
}

staging::Compression TargetCompression(const std::string& word) {
  if (const auto compression = FromWord<staging::Compression>(word)) return *compression;
  throw Error(ErrorKind::kUsage, fmt::format("cannot compress by '{}'", word), "use none, gzip or zlib");
}

/// Shows how far the work is. Ctrl-C and SIGTERM end it at the next record, so that nothing half written remains;
/// then the signal has its usual effect. Until the first record they end the process at once.
class RecordProgress {
 public:
  RecordProgress(Output& output, std::string_view what) : output_(output), what_(what) {}

  /// For work of several threads: before they start.
  void Hold() { held_.emplace(); }
  staging::ConvertProgress Callback() {
    return [this](std::uint64_t done, std::uint64_t total) { Show(done, total); };
  }

 private:
  void Show(std::uint64_t done, std::uint64_t total) {
    if (!held_) Hold();
    if (held_->IsPending()) throw Error(ErrorKind::kInterrupted, fmt::format("{} was ended", what_));
    output_.Progress(fmt::format("{}  {} of {} records", what_, done, total));
  }

  Output& output_;
  std::string_view what_;
  std::optional<HeldInterrupts> held_;
};

staging::MadeData KindToMake(const std::string& word) {
  if (const auto kind = FromWord<staging::MadeData>(word)) return *kind;
  throw Error(ErrorKind::kUsage, fmt::format("'{}' is not a kind of made data", word),
              "use hepcnn, cosmoflow or imagenet-like");
}

/// An option that only one kind has.
void RequireKind(std::string_view option, staging::MadeData wanted, staging::MadeData kind) {
  if (kind == wanted) return;
  throw Error(ErrorKind::kUsage, fmt::format("{} is an option of {} alone", option, WordOf(wanted)),
              "leave it out: slipway data make --help says what each kind has");
}

/// Where the user leaves it open: what the data sets that these stand for look like.
void FillIn(staging::MakeOptions& options, bool format_given) {
  struct Usual {
    staging::DataFormat format;
    std::size_t size;
  };
  const auto usual = [&]() -> Usual {
    switch (options.kind) {
      case staging::MadeData::kHepcnn: return {staging::DataFormat::kHdf5, 64};
      case staging::MadeData::kCosmoflow: return {staging::DataFormat::kTfrecord, 32};
      default: return {staging::DataFormat::kTfrecord, 96};
    }
  }();
  if (!format_given) options.format = usual.format;
  if (options.size == 0) options.size = usual.size;
}

void PrintFiles(const staging::ConvertResult& result, std::string_view schema, Output& output,
                std::string_view source = {}) {
  output.Progress("");
  Json files = Json::array();
  std::string names;
  for (const auto& file : result.files) {
    files.push_back(file.string());
    names += file.string() + "\n";
  }
  const Json document = {{"schema", schema},
                         {"format", WordOf(result.format)},
                         {"records", result.records},
                         {"bytes", result.bytes},
                         {"files", files},
                         {"left_out", staging::ToJson(std::span(result.left_out))}};
  output.Print(
      {document, fmt::format("{}{} records, {}\n", names, result.records, FormatBytes(Bytes{result.bytes})), names});
  WarnOfLeftOut(source, result.left_out, result.source_files, output);
}

}  // namespace

int DataConvert(const DataConvertOptions& options, Output& output) {
  const auto format = TargetFormat(options.to);
  const auto compression = TargetCompression(options.compression);
  RecordProgress progress(output, "converting");
  const auto result = staging::Convert({options.images, options.labels, options.destination, format, options.shards,
                                        progress.Callback(), options.sources, compression});
  const auto source = options.sources.empty() ? options.images : options.sources.front();
  PrintFiles(result, "slipway.data_convert/1", output, source.native());
  return 0;
}

int DataReshard(const DataReshardOptions& options, Output& output) {
  RecordProgress progress(output, "resharding");
  const auto result = staging::Reshard({options.source, options.destination, options.shards, progress.Callback()});
  PrintFiles(result, "slipway.data_reshard/1", output, options.source.native());
  return 0;
}

int DataMake(const DataMakeOptions& options, Output& output) {
  staging::MakeOptions make;
  make.kind = KindToMake(options.kind);
  if (options.classes) RequireKind("--classes", staging::MadeData::kImagenetLike, make.kind);
  if (options.box) RequireKind("--box", staging::MadeData::kCosmoflow, make.kind);
  make.directory = options.directory;
  if (!options.format.empty()) make.format = TargetFormat(options.format);
  make.train_records = options.train;
  make.test_records = options.test;
  make.size = options.size;
  make.classes = options.classes.value_or(10);
  make.box = options.box.value_or(256);
  make.shards = options.shards;
  make.seed = options.seed;
  make.threads = UsableProcessors();
  RecordProgress progress(output, "making");
  progress.Hold();
  make.progress = progress.Callback();
  FillIn(make, !options.format.empty());
  PrintFiles(staging::MakeData(make), "slipway.data_make/1", output);
  return 0;
}

}  // namespace slipway::launcher
