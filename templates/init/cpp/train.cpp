// Tells signal from background in small calorimeter images, on any number of ranks. The model is one weight for each
// pixel; put yours in its place. What Slipway gives is marked by `job` (slipway.hpp) and `slipway_reader_`.

#include <slipway.hpp>
#include <slipway_reader.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

constexpr std::int64_t kPixels = 3 * 16 * 16;
// A tenth of the training records chooses between settings; the test records are for the end.
constexpr auto kTrainedOn = R"(, "split": {"fraction": 0.1, "seed": 1, "part": "train"})";
constexpr auto kSetAside = R"(, "split": {"fraction": 0.1, "seed": 1, "part": "validation"})";

void Check(int status) {
  if (status != SLIPWAY_READER_OK) throw std::runtime_error(slipway_reader_error_message());
}

/// This rank's share of a dataset of the spec, in batches.
class Batches {
 public:
  Batches(const char* dataset, const std::string& options) {
    const std::string fields = R"("fields": [{"name": "image", "type": "float32", "shape": [3, 16, 16]}, "label"], )";
    Check(slipway_reader_open(dataset, ("{" + fields + options + "}").c_str(), &reader_));
  }
  Batches(const Batches&) = delete;
  Batches& operator=(const Batches&) = delete;
  ~Batches() { slipway_reader_close(reader_); }

  /// Null at the end of an epoch.
  const slipway_reader_batch* Next() {
    const slipway_reader_batch* batch = nullptr;
    Check(slipway_reader_next(reader_, &batch));
    return batch;
  }
  std::string Position() {
    char text[64];
    Check(slipway_reader_position(reader_, text, sizeof text));
    return text;
  }
  void GoTo(const std::string& position) { Check(slipway_reader_seek(reader_, position.c_str())); }

 private:
  slipway_reader* reader_ = nullptr;
};

struct Model {
  std::vector<float> weights = std::vector<float>(kPixels);
  std::vector<float> gradient = std::vector<float>(kPixels);

  /// Adds the batch's gradient; returns its loss and how many records it gets right, both as sums.
  std::pair<double, double> Learn(const slipway_reader_batch& batch) {
    const auto* images = static_cast<const float*>(batch.fields[0].data);
    const auto* labels = static_cast<const std::int64_t*>(batch.fields[1].data);
    double loss = 0;
    double right = 0;
    for (std::int64_t record = 0; record < batch.valid_count; ++record) {
      const float* image = images + record * kPixels;
      double score = 0;
      for (std::int64_t i = 0; i < kPixels; ++i) score += weights[i] * std::log1p(image[i]);
      const double signal = 1 / (1 + std::exp(-score));
      const double error = signal - static_cast<double>(labels[record]);
      for (std::int64_t i = 0; i < kPixels; ++i) gradient[i] += static_cast<float>(error * std::log1p(image[i]));
      loss -= std::log(1 - std::abs(error) + 1e-12);
      right += std::abs(error) < 0.5 ? 1 : 0;
    }
    return {loss, right};
  }

  void Step(double rate) {
    for (std::int64_t i = 0; i < kPixels; ++i) weights[i] -= static_cast<float>(rate) * gradient[i];
    gradient.assign(kPixels, 0);
  }
};

struct Progress {
  int epoch = 0;
  std::int64_t step = 0;
  std::string position;  ///< of the training batches
};

void Save(slipway::client::Session& job, const Model& model, const Progress& progress) {
  const std::filesystem::path folder = job.BeginCheckpoint(progress.step);
  if (job.rank() == 0) {
    std::ofstream weights(folder / "weights", std::ios::binary);
    weights.write(reinterpret_cast<const char*>(model.weights.data()), kPixels * sizeof(float));
    std::ofstream(folder / "progress") << progress.epoch << ' ' << progress.step << ' ' << progress.position;
  }
  job.CommitCheckpoint(progress.step, progress.epoch);
}

/// From the checkpoint that the launcher wants continued; from the beginning where there is none.
Progress Load(slipway::client::Session& job, Model& model) {
  Progress progress;
  const std::filesystem::path folder = job.ResumeFrom();
  if (folder.empty()) return progress;
  std::ifstream weights(folder / "weights", std::ios::binary);
  weights.read(reinterpret_cast<char*>(model.weights.data()), kPixels * sizeof(float));
  std::ifstream text(folder / "progress");
  std::getline(text >> progress.epoch >> progress.step >> std::ws, progress.position);
  if (!weights || !text) throw std::runtime_error("the checkpoint " + folder.string() + " is not one of this program");
  return progress;
}

/// Every record once, over all ranks.
double Accuracy(slipway::client::Session& job, Model& model, const char* dataset, const std::string& more = "") {
  Batches batches(dataset, R"("batch": 64, "order": "in_order", "remainder": "pad", "epochs": 1)" + more);
  double sums[] = {0, 0};  // right, records
  while (const auto* batch = batches.Next()) {
    sums[0] += model.Learn(*batch).second;
    sums[1] += static_cast<double>(batch->valid_count);
  }
  model.Step(0);  // the gradients of these records are not for training
  job.Sum(sums);
  return sums[0] / sums[1];
}

/// False when the launcher has asked to stop.
bool TrainEpoch(slipway::client::Session& job, Model& model, Batches& batches, Progress& progress, double rate) {
  double sums[] = {0, 0};  // loss, records
  while (const auto* batch = batches.Next()) {
    const double loss = model.Learn(*batch).first;
    for (auto& value : model.gradient) value /= static_cast<float>(batch->valid_count);
    job.Gradients("model");  // the mean over all ranks
    model.Step(rate);
    ++progress.step;
    sums[0] += loss;
    sums[1] += static_cast<double>(batch->valid_count);
    if (job.StopRequested()) return false;
  }
  ++progress.epoch;
  job.Sum(sums);
  const double validation = Accuracy(job, model, "train", kSetAside);
  job.Report(progress.step, progress.epoch, "train_loss", sums[0] / sums[1]);
  job.Report(progress.step, progress.epoch, "validation_accuracy", validation);
  if (job.rank() == 0) {
    std::printf("epoch %d  loss %.4f  validation accuracy %.4f\n", progress.epoch, sums[0] / sums[1], validation);
  }
  return true;
}

void Train(slipway::client::Session& job, std::map<std::string, double> arguments) {
  Model model;
  Batches batches("train", "\"batch\": " + std::to_string(static_cast<int>(arguments["batch_size"])) + kTrainedOn);
  auto progress = Load(job, model);
  if (!progress.position.empty()) batches.GoTo(progress.position);

  using slipway::client::Tensor;
  job.Register("model", std::vector{Tensor{"weights", {kPixels}, model.gradient.data()}});
  job.Broadcast(std::vector{Tensor{"weights", {kPixels}, model.weights.data()}});
  while (progress.epoch < arguments["epochs"]) {
    const bool go_on = TrainEpoch(job, model, batches, progress, arguments["lr"]);
    progress.position = batches.Position();
    Save(job, model, progress);
    if (!go_on) return;
  }
  const double test = Accuracy(job, model, "test");
  job.Report(progress.step, progress.epoch, "test_accuracy", test);
  if (job.rank() == 0) std::printf("test accuracy %.4f\n", test);
}

/// `--name value ...`, as train.args of the spec become.
std::map<std::string, double> ReadArguments(int argc, char** argv) {
  std::map<std::string, double> arguments = {{"epochs", 3}, {"batch_size", 16}, {"lr", 0.05}};
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string word = argv[i];
    if (!word.starts_with("--") || !arguments.contains(word.substr(2))) {
      throw std::runtime_error("unknown argument " + word);
    }
    char* end = nullptr;
    arguments[word.substr(2)] = std::strtod(argv[i + 1], &end);
    if (*end != '\0') throw std::runtime_error(word + " " + argv[i + 1] + ": must be a number");
  }
  return arguments;
}

}  // namespace

int main(int argc, char** argv) try {
  slipway::client::Session job;
  Train(job, ReadArguments(argc, argv));
  return 0;
} catch (const std::exception& error) {
  std::fprintf(stderr, "train: %s\n", error.what());
  return 1;  // without waiting for the other ranks: the launcher ends them
}
