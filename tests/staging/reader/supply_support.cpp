#include "tests/staging/reader/supply_support.h"

#include <fmt/format.h>

#include "core/files.h"
#include "staging/dataset/manifest.h"
#include "staging/formats/example.h"
#include "staging/formats/tfrecord.h"

namespace slipway::staging {
namespace fs = std::filesystem;
namespace {

std::string NameOf(std::size_t file) { return fmt::format("part-{:03}.tfrecord", file); }

}  // namespace

void MakeNumberedFiles(const fs::path& directory, const std::vector<int>& files, std::size_t filling) {
  fs::create_directories(directory);
  std::int64_t id = 0;
  for (std::size_t file = 0; file < files.size(); ++file) {
    TfrecordWriter writer(directory / NameOf(file));
    for (int i = 0; i < files[file]; ++i, ++id) {
      ExampleBuilder example;
      if (filling > 0) example.AddBytes("filling", std::string(filling, static_cast<char>(id)));
      writer.Write(example.AddInt("id", id).Finish());
    }
    writer.Close();
  }
}

void MakeManifest(const fs::path& directory, const std::vector<int>& files) {
  Manifest manifest;
  manifest.name = "train";
  manifest.format = DataFormat::kTfrecord;
  for (std::size_t file = 0; file < files.size(); ++file) {
    ManifestFile entry;
    entry.path = NameOf(file);
    entry.bytes = Bytes{fs::file_size(directory / entry.path)};
    entry.records = static_cast<std::uint64_t>(files[file]);
    manifest.files.push_back(entry);
  }
  WriteFile(directory / kManifestName, RenderManifest(manifest));
}

BatchOptions NumberedOptions(int rank, int world, std::uint64_t epochs, std::uint64_t seed) {
  BatchOptions options;
  options.fields = {{"id", {}, {}, {}}};
  options.batch = 2;
  options.seed = seed;
  options.order = RecordOrder::kWindowed;
  options.window = 5;
  options.rank = rank;
  options.world = world;
  options.epochs = epochs;
  options.prefetch = 2;
  return options;
}

std::vector<std::int64_t> ReadIds(const fs::path& path, const BatchOptions& options,
                                  const std::function<void()>& on_batch) {
  std::vector<std::int64_t> ids;
  auto reader = BatchReader::Open(path, options);
  for (auto epoch = options.position.epoch; epoch < options.epochs; ++epoch) {
    while (const auto* batch = reader.Next()) {
      const auto values = batch->fields[0].values;
      const auto* numbers = reinterpret_cast<const std::int64_t*>(values.data());
      ids.insert(ids.end(), numbers, numbers + batch->valid_count);
      if (on_batch) on_batch();
    }
  }
  return ids;
}

}  // namespace slipway::staging
