#include "bench/staging/reader_rates.h"

#include <unistd.h>

#include <algorithm>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "bench/measure.h"
#include "core/error.h"
#include "core/files.h"
#include "core/install.h"
#include "core/process.h"
#include "staging/dataset/manifest.h"
#include "staging/dataset/record_index.h"
#include "staging/formats/example.h"
#include "staging/formats/tfrecord.h"
#include "staging/reader/batches.h"

namespace slipway::bench {
namespace {

namespace fs = std::filesystem;
using staging::BatchOptions;
using staging::BatchReader;

constexpr std::size_t kReaderSetBytes = 256 << 20;  // more than the caches hold
constexpr std::size_t kReaderPiece = 256 << 10;     // what the copy engine reads at once
constexpr std::size_t kBatchBytes = 8 << 20;
constexpr int kEpochs = 2;
constexpr std::uint64_t kPictures = 32'768;
constexpr std::size_t kFiles = 4;
constexpr int kReaderRounds = 5;

/// Removed at its end.
class Generation {
 public:
  Generation(fs::path directory, std::uint64_t records, const std::function<std::string(std::uint64_t)>& make)
      : directory_(std::move(directory)) {
    MakeDirectories(directory_);
    staging::Manifest manifest;
    manifest.name = "bench";
    manifest.format = staging::DataFormat::kTfrecord;
    manifest.generation = "bench-1";
    std::vector<staging::RecordIndex> indices;
    for (std::size_t file = 0; file < kFiles; ++file) {
      const auto path = directory_ / ("part-" + std::to_string(file) + ".tfrecord");
      staging::TfrecordWriter writer(path);
      for (auto i = file * records / kFiles; i < (file + 1) * records / kFiles; ++i) writer.Write(make(i));
      writer.Close();
      const staging::TfrecordFile written(path);
      staging::ManifestFile entry;
      entry.path = path.filename();
      entry.bytes = Bytes{written.byte_count()};
      entry.records = written.record_count();
      manifest.files.push_back(entry);
      indices.push_back({written.offsets(), written.byte_count()});
    }
    WriteFile(directory_ / staging::kRecordIndexName, staging::EncodeRecordIndices(indices));
    WriteFile(directory_ / staging::kManifestName, staging::RenderManifest(manifest));
  }
  Generation(const Generation&) = delete;
  Generation& operator=(const Generation&) = delete;
  ~Generation() {
    std::error_code ignored;
    fs::remove_all(directory_, ignored);
  }

  const fs::path& directory() const { return directory_; }

 private:
  fs::path directory_;
};

std::string RandomBytes(std::size_t count, std::uint64_t seed) {
  std::string bytes(count, '\0');
  auto state = seed * 2 + 1;
  for (auto& byte : bytes) byte = static_cast<char>((state = state * 6364136223846793005U + 1) >> 56);
  return bytes;
}

std::span<const std::byte> BytesIn(const std::string& file) { return std::as_bytes(std::span(file)); }
std::span<const std::byte> BytesIn(const staging::MappedFile& file) { return file.bytes(); }

/// The full check of what the files hold, from memory.
template <class File>
double CheckSeconds(const std::vector<File>& files) {
  return SecondsOf([&] {
    for (const auto& file : files) {
      const auto check = staging::MakeStreamCheck(staging::DataFormat::kTfrecord, "memory");
      const auto bytes = BytesIn(file);
      for (std::size_t at = 0; at < bytes.size(); at += kReaderPiece) {
        check->Update(bytes.subspan(at, std::min(kReaderPiece, bytes.size() - at)));
      }
      check->Finish();
    }
  });
}

/// Records per second of some epochs of an open reader. What was ready before does not count.
double RecordsPerSecond(BatchReader& reader, const BatchOptions& options) {
  const auto ready = (options.prefetch + 1) * options.batch;
  std::uint64_t records = 0;
  const auto seconds = SecondsOf([&] {
    for (int epoch = 0; epoch < kEpochs; ++epoch) {
      while (const auto* batch = reader.Next()) records += batch->valid_count;
    }
  });
  return static_cast<double>(records - ready) / seconds;
}

BatchOptions WholeOptions(std::size_t record_bytes, staging::RecordOrder order, int threads) {
  BatchOptions options;
  options.payloads = true;
  options.batch = kBatchBytes / record_bytes;
  options.order = order;
  options.threads = threads;
  options.remainder = staging::Remainder::kPad;
  return options;
}

Json WholeRecordsRow(const fs::path& directory, std::size_t record_bytes) {
  using staging::RecordOrder;
  const auto record = RandomBytes(record_bytes, 1);
  const Generation set(directory, kReaderSetBytes / record_bytes, [&](std::uint64_t) { return record; });
  std::vector<std::string> files;
  std::vector<staging::MappedFile> mapped;
  double bytes = 0;
  for (std::size_t file = 0; file < kFiles; ++file) {
    const auto path = set.directory() / ("part-" + std::to_string(file) + ".tfrecord");
    files.push_back(ReadFile(path));
    mapped.emplace_back(path);
    bytes += static_cast<double>(files.back().size());
  }
  struct Side {
    std::string name;
    BatchOptions options;
    BatchReader reader;
  };
  std::vector<Side> sides;
  for (const auto order : {RecordOrder::kInOrder, RecordOrder::kGlobal}) {
    for (const int threads : {1, 2}) {
      const auto options = WholeOptions(record_bytes, order, threads);
      const auto name = (order == RecordOrder::kGlobal ? "shuffled_" : "in_order_") + std::to_string(threads);
      sides.push_back({name, options, BatchReader::Open(set.directory(), options)});
    }
  }
  const auto frame = bytes / static_cast<double>(sides[0].reader.record_count());
  std::map<std::string, std::vector<double>> rates;
  for (int round = 0; round < kReaderRounds; ++round) {
    rates["check"].push_back(bytes / CheckSeconds(files) / 1e9);
    rates["check_mapped"].push_back(bytes / CheckSeconds(mapped) / 1e9);
    for (auto& side : sides) {
      rates[side.name].push_back(frame * RecordsPerSecond(side.reader, side.options) / 1e9);
    }
  }
  Json row = {{"record_bytes", record_bytes}};
  for (const auto& [name, values] : rates) row[name] = Median(values);
  for (const auto& side : sides) row[side.name + "_of_check"] = Median(rates[side.name]) / Median(rates["check"]);
  return row;
}

std::string Picture(std::uint64_t number) {
  return staging::ExampleBuilder()
      .AddBytes("image", RandomBytes(784, number))
      .AddInt("label", static_cast<std::int64_t>(number % 10))
      .Finish();
}

BatchOptions PictureOptions(int threads) {
  BatchOptions options;
  staging::Normalise normalise;
  normalise.scale = 1.0F / 255;
  options.fields = {{"image", {}, staging::Shape{28, 28}, {normalise}}, {"label", {}, {}, {}}};
  options.batch = 64;
  options.threads = threads;
  return options;
}

/// Records per second of the script; nothing where there is none, or no Python.
std::optional<double> PlainRate(const fs::path& script, const fs::path& directory) {
  if (!fs::exists(script)) return {};
  SpawnOptions python;
  python.argv = {script.string(), directory.string()};
  const auto run = RunAndCapture(std::move(python));
  if (!run.status.Success()) return {};
  return std::stod(run.output);
}

Json ExamplesRow(const fs::path& directory, const fs::path& plain_reader) {
  const Generation set(directory, kPictures, Picture);
  auto one = BatchReader::Open(set.directory(), PictureOptions(1));
  auto two = BatchReader::Open(set.directory(), PictureOptions(2));
  std::vector<double> reader_1, reader_2, python;
  for (int round = 0; round < kReaderRounds; ++round) {
    reader_1.push_back(RecordsPerSecond(one, PictureOptions(1)));
    reader_2.push_back(RecordsPerSecond(two, PictureOptions(2)));
    if (const auto rate = PlainRate(plain_reader, set.directory())) python.push_back(*rate);
  }
  const auto over_python = [&](double rate) -> Json {
    return python.empty() ? Json(nullptr) : Json(rate / Median(python));
  };
  return {{"records", kPictures},
          {"reader_1", Median(reader_1)},
          {"reader_2", Median(reader_2)},
          {"plain_python", python.empty() ? Json(nullptr) : Json(Median(python))},
          {"reader_1_of_python", over_python(Median(reader_1))},
          {"reader_2_of_python", over_python(Median(reader_2))}};
}

}  // namespace

Json BenchReader() {
  constexpr std::uint64_t kNeeded = 2 * kReaderSetBytes;
  const fs::path memory = "/dev/shm";
  std::error_code unreadable;
  const auto parent =
      fs::space(memory, unreadable).available > kNeeded && !unreadable ? memory : fs::temp_directory_path();
  const auto directory = parent / ("slipway-bench-reader-" + std::to_string(::getpid()));
  Json rows = Json::array();
  for (const std::size_t bytes : {1'000, 8'000, 110'000}) rows.push_back(WholeRecordsRow(directory, bytes));
  return {{"whole_records", rows},
          {"examples", ExamplesRow(directory, HelperProgram("bench-support") / "plain_reader.py")}};
}

}  // namespace slipway::bench
