/// A place for one test of the fashion trainer: a small real dataset, a run folder, and the real program, started as
/// the launcher starts it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/json.h"
#include "core/process.h"
#include "tests/support/temp_directory.h"

namespace slipway::test {

using Words = std::vector<std::string>;

/// One image and its label, as the features of a record; tests bend them.
struct LabelledImage {
  std::string pixels;  ///< 784 bytes
  std::int64_t label = 0;
  std::string image_name = "image";
};

class FashionPlace {
 public:
  /// Training data: 2,000 real images as TFRecord; test data: 300 others as HDF5.
  FashionPlace();

  std::filesystem::path operator/(const std::filesystem::path& name) const { return directory_.path() / name; }
  std::filesystem::path checkpoints() const { return directory_ / "checkpoints"; }
  std::filesystem::path stop_file() const { return directory_ / "stop.json"; }
  std::filesystem::path train_data() const { return directory_ / "train"; }
  std::filesystem::path metrics() const { return directory_ / "metrics.jsonl"; }

  /// For all later runs.
  void Set(std::string_view name, std::string_view value) { environment_.Set(name, value); }
  void Unset(std::string_view name) { environment_.Unset(name); }
  /// What the launcher writes there for `checkpoint.every` and `validation`.
  void Configure(std::string_view json) { Set("SLIPWAY_CONFIG", json); }

  /// Trains to the end. A small network on all data unless `arguments` says otherwise.
  Captured Train(Words arguments, int ranks = 1) const;
  /// Any command in this environment, which fails the test when it takes two minutes.
  Captured Run(Words command) const;
  /// The command that starts `ranks` ranks.
  static Words Command(Words arguments, int ranks);

  /// As the launcher asks.
  void AskToStop() const;
  /// Lets the next run continue from the newest checkpoint.
  void Continue();

  /// The values of a metric in the order of their lines.
  std::vector<double> Values(const std::string& metric) const;
  /// The last value of each metric.
  std::map<std::string, double> LastValues() const;
  /// The newest valid checkpoint; empty when there is none.
  std::filesystem::path NewestCheckpoint() const;
  /// The bytes of its model.pt.
  std::string Weights() const;

  /// Replaces the training data.
  void WriteTrainData(const std::vector<LabelledImage>& images) const;
  /// The first images of the real data.
  static std::vector<LabelledImage> RealImages(std::size_t count);

 private:
  /// The "metrics" of every complete line.
  std::vector<Json> MetricsLines() const;

  TempDirectory directory_;
  Environment environment_ = Environment::Inherited();
};

}  // namespace slipway::test
