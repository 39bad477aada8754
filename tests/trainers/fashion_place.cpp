#include "tests/trainers/fashion_place.h"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "core/checkpoint.h"
#include "core/files.h"
#include "staging/convert/convert.h"
#include "staging/formats/example.h"
#include "staging/formats/idx.h"
#include "staging/formats/tfrecord.h"

namespace slipway::test {
namespace {

constexpr auto kDatasets = "/usr/share/datasets/fashion-mnist";
constexpr std::size_t kTrain = 2000;
constexpr std::size_t kTest = 300;

std::string BigEndian(std::size_t number) {
  std::string bytes;
  for (int shift = 24; shift >= 0; shift -= 8) bytes += static_cast<char>((number >> shift) & 0xff);
  return bytes;
}

/// Records [from, from + count) of an idx file, as an idx file.
void WritePart(const staging::IdxArray& array, std::size_t from, std::size_t count, const std::filesystem::path& path) {
  std::string text{0, 0, 8, static_cast<char>(array.shape.size())};
  text += BigEndian(count);
  for (std::size_t i = 1; i < array.shape.size(); ++i) text += BigEndian(array.shape[i]);
  for (std::size_t i = from; i < from + count; ++i) {
    const auto record = array.Record(i);
    text.append(reinterpret_cast<const char*>(record.data()), record.size());
  }
  WriteFile(path, text);
}

/// Of the smaller, second set: it is read in a tenth of the time.
staging::IdxArray ReadReal(const std::string& what) {
  return staging::ReadIdx(std::filesystem::path(kDatasets) / ("t10k-" + what + "-ubyte.gz"));
}

void Convert(const staging::IdxArray& images, const staging::IdxArray& labels, std::size_t from, std::size_t count,
             const std::filesystem::path& destination, staging::DataFormat format) {
  MakeDirectories(destination.parent_path());
  staging::ConvertOptions options;
  options.images = destination.parent_path() / "images";
  options.labels = destination.parent_path() / "labels";
  options.destination = destination;
  options.to = format;
  WritePart(images, from, count, options.images);
  WritePart(labels, from, count, options.labels);
  staging::Convert(options);
  std::filesystem::remove(options.images);
  std::filesystem::remove(options.labels);
}

double NumberOf(const Json& value) { return value.is_number() ? value.get<double>() : std::nan(""); }

}  // namespace

FashionPlace::FashionPlace() {
  const auto images = ReadReal("images-idx3");
  const auto labels = ReadReal("labels-idx1");
  Convert(images, labels, 0, kTrain, train_data() / "train", staging::DataFormat::kTfrecord);
  Convert(images, labels, kTrain, kTest, directory_ / "test/test.h5", staging::DataFormat::kHdf5);
  MakeDirectories(checkpoints());
  Set("SLIPWAY_DATA_TRAIN", train_data().native());
  Set("SLIPWAY_DATA_TEST", (directory_ / "test").native());
  Set("SLIPWAY_CHECKPOINT_DIR", checkpoints().native());
  Set("SLIPWAY_RESUME_FROM", "");
  Set("SLIPWAY_METRICS", metrics().native());
  Set("SLIPWAY_STOP_FILE", stop_file().native());
  for (const char* name : {"SLIPWAY_CONFIG", "SLIPWAY_PARAMS"}) Unset(name);
}

Words FashionPlace::Command(Words arguments, int ranks) {
  Words command;
  if (ranks > 1) {
    command = {"mpirun", "--allow-run-as-root", "--oversubscribe", "--bind-to", "none", "-n", std::to_string(ranks)};
  }
  command.emplace_back(SLIPWAY_BUILD_DIR "/libexec/slipway/trainers/fashion");
  for (const char* word : {"--channels", "8", "--lr", "0.003"}) command.emplace_back(word);
  command.insert(command.end(), arguments.begin(), arguments.end());
  return command;
}

Captured FashionPlace::Train(Words arguments, int ranks) const { return Run(Command(std::move(arguments), ranks)); }

Captured FashionPlace::Run(Words command) const {
  SpawnOptions options;
  options.argv = std::move(command);
  options.environment = environment_;
  options.working_directory = directory_.path();
  auto result = RunAndCapture(std::move(options), std::chrono::minutes(2));
  EXPECT_FALSE(result.timed_out) << result.output << result.errors;
  return result;
}

std::vector<Json> FashionPlace::MetricsLines() const {
  std::vector<Json> lines;
  std::ifstream file(metrics());
  for (std::string line; std::getline(file, line) && !file.eof();) lines.push_back(Json::parse(line).at("metrics"));
  return lines;
}

void FashionPlace::AskToStop() const {
  WriteFileAtomically(stop_file(), R"({"reason": "paused", "deadline": "2030-01-01T00:00:00Z"})");
}

void FashionPlace::Continue() {
  std::filesystem::remove(stop_file());
  Set("SLIPWAY_RESUME_FROM", NewestCheckpoint().native());
}

std::string FashionPlace::Weights() const { return ReadFile(NewestCheckpoint() / "model.pt"); }

std::vector<double> FashionPlace::Values(const std::string& metric) const {
  std::vector<double> values;
  for (const auto& line : MetricsLines()) {
    if (line.contains(metric)) values.push_back(NumberOf(line[metric]));
  }
  return values;
}

std::map<std::string, double> FashionPlace::LastValues() const {
  std::map<std::string, double> values;
  for (const auto& line : MetricsLines()) {
    for (const auto& [name, value] : line.items()) values[name] = NumberOf(value);
  }
  return values;
}

std::filesystem::path FashionPlace::NewestCheckpoint() const {
  const auto newest = slipway::NewestCheckpoint(checkpoints());
  return newest ? newest->directory : std::filesystem::path();
}

void FashionPlace::WriteTrainData(const std::vector<LabelledImage>& images) const {
  RemoveTree(train_data());
  MakeDirectories(train_data());
  staging::TfrecordWriter writer(train_data() / "train.tfrecord");
  for (const auto& image : images) {
    staging::ExampleBuilder example;
    example.AddBytes(image.image_name, image.pixels).AddInt("label", image.label);
    writer.Write(example.Finish());
  }
  writer.Close();
}

std::vector<LabelledImage> FashionPlace::RealImages(std::size_t count) {
  const auto images = ReadReal("images-idx3");
  const auto labels = ReadReal("labels-idx1");
  std::vector<LabelledImage> list(count);
  for (std::size_t i = 0; i < count; ++i) {
    const auto record = images.Record(i);
    list[i].pixels.assign(reinterpret_cast<const char*>(record.data()), record.size());
    list[i].label = std::to_integer<std::int64_t>(labels.Record(i)[0]);
  }
  return list;
}

}  // namespace slipway::test
