#include "tests/staging/reader/batches_support.h"

#include <gtest/gtest.h>
#include <turbojpeg.h>

#include <algorithm>
#include <cstring>

#include "core/crc32c.h"
#include "core/files.h"
#include "staging/dataset/manifest.h"
#include "staging/dataset/record_index.h"
#include "staging/formats/example.h"
#include "staging/formats/tfrecord.h"
#include "tests/staging/formats_support.h"

namespace slipway::staging {
namespace fs = std::filesystem;

std::string GreyJpeg(int width, int height, int grey) {
  const std::vector<unsigned char> pixels(static_cast<std::size_t>(width * height * 3),
                                          static_cast<unsigned char>(grey));
  const auto encoder = tjInitCompress();
  unsigned char* file = nullptr;
  unsigned long size = 0;
  const auto result = tjCompress2(encoder, pixels.data(), width, 0, height, TJPF_RGB, &file, &size, TJSAMP_420, 90, 0);
  EXPECT_EQ(result, 0);
  const std::string text(reinterpret_cast<char*>(file), size);
  tjFree(file);
  tjDestroy(encoder);
  return text;
}

std::string NumberedExample(std::uint64_t number, std::size_t bytes) {
  std::string image;
  for (std::size_t i = 0; i < bytes; ++i) image.push_back(static_cast<char>(number + i));
  const std::vector<float> floats = {static_cast<float>(number), 0.5F, -1};
  return ExampleBuilder()
      .AddBytes("image", image)
      .AddFloats("floats", floats)
      .AddInt("label", static_cast<std::int64_t>(number))
      .Finish();
}

void MakeNumberedFiles(const fs::path& directory, const std::vector<std::uint64_t>& counts) {
  std::uint64_t number = 0;
  for (std::size_t file = 0; file < counts.size(); ++file) {
    std::vector<std::string> records;
    for (std::uint64_t i = 0; i < counts[file]; ++i) records.push_back(NumberedExample(number++));
    MakeTfrecords(directory / ("part-" + std::to_string(100 + file) + ".tfrecord"), records);
  }
}

void ListIndex(const fs::path& directory, const std::string& index, Manifest& manifest) {
  WriteFile(directory / kRecordIndexName, index);
  manifest.index = ManifestIndex{std::string(kRecordIndexName), Bytes{index.size()}, Crc32c(index)};
}

void ReplaceIndex(const fs::path& directory, const std::string& index) {
  auto manifest = ParseManifest(ReadFile(directory / kManifestName));
  ListIndex(directory, index, manifest);
  WriteFile(directory / kManifestName, RenderManifest(manifest));
}

void DescribeGeneration(const fs::path& directory, WithIndex with_index) {
  Manifest manifest;
  manifest.name = "train";
  manifest.format = DataFormat::kTfrecord;
  manifest.created = "now";
  manifest.generation = "train-1";
  std::vector<RecordIndex> indices;
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(directory)) {
    if (entry.path().extension() == ".tfrecord") files.push_back(entry.path());
  }
  std::ranges::sort(files, std::greater());  // the manifest need not be sorted
  for (const auto& path : files) {
    const TfrecordFile file(path);
    ManifestFile listed;
    listed.path = path.filename();
    listed.bytes = Bytes{fs::file_size(path)};
    listed.source = "there";
    listed.records = file.record_count();
    manifest.files.push_back(listed);
    indices.push_back({file.offsets(), file.frames().size()});
  }
  if (with_index == WithIndex::kYes) ListIndex(directory, EncodeRecordIndices(indices), manifest);
  WriteFile(directory / kManifestName, RenderManifest(manifest));
}

void MakeGeneration(const fs::path& directory, const std::vector<std::uint64_t>& counts, WithIndex index) {
  MakeNumberedFiles(directory, counts);
  DescribeGeneration(directory, index);
}

BatchOptions LabelOptions(std::uint64_t batch) {
  BatchOptions options;
  options.fields = {{"label", {}, {}, {}}};
  options.batch = batch;
  options.threads = 1;
  return options;
}

std::vector<std::int64_t> LabelsOf(const Batch& batch) {
  std::vector<std::int64_t> labels(batch.records.size());
  std::memcpy(labels.data(), batch.fields.back().values.data(), labels.size() * sizeof(std::int64_t));
  for (std::size_t i = 0; i < labels.size(); ++i) {
    if (batch.valid[i] == 0) labels[i] = -1;
  }
  return labels;
}

std::vector<std::int64_t> LabelsOfEpoch(BatchReader& reader) {
  std::vector<std::int64_t> labels;
  while (const auto* batch = reader.Next()) {
    const auto more = LabelsOf(*batch);
    labels.insert(labels.end(), more.begin(), more.end());
  }
  return labels;
}

}  // namespace slipway::staging
