#include "trainers/common/saved_training.h"

#include <fmt/format.h>

#include <fstream>
#include <iterator>
#include <stdexcept>
#include <utility>
#include <vector>

namespace trainers {
namespace {

namespace fs = std::filesystem;

void WriteBytes(const fs::path& file, const std::vector<char>& bytes) {
  std::ofstream stream(file, std::ios::binary);
  stream.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  if (!stream.flush()) throw std::runtime_error(fmt::format("cannot write '{}'", file.string()));
}

std::vector<char> ReadBytes(const fs::path& file) {
  std::ifstream stream(file, std::ios::binary);
  if (!stream) throw std::runtime_error(fmt::format("cannot read '{}'", file.string()));
  return {std::istreambuf_iterator<char>(stream), {}};
}

/// A checkpoint is something to go on from. All ranks have the same weights.
void RequireFinite(const Replica& replica, std::int64_t step) {
  const auto name = replica.NotFinite();
  if (name.empty()) return;
  throw std::runtime_error(
      fmt::format("the weights '{}' are not finite after step {}, so no checkpoint is written: try a "
                  "smaller learning rate, or gradients.clip_norm",
                  name, step));
}

/// As they were saved, unless the exchange has other settings now.
void RestoreExchange(Replica& replica, const fs::path& file) try {
  replica.RestoreExchange(ReadBytes(file));
} catch (const slipway::client::Failure& failure) {
  throw std::runtime_error(
      fmt::format("the checkpoint's '{}' cannot be continued with: {}", file.string(), failure.what()));
}

}  // namespace

SavedTraining::SavedTraining(const Settings& settings, slipway::client::Session& session, Parts parts, Course course)
    : settings_(settings), session_(session), parts_(parts), course_(std::move(course)) {}

void SavedTraining::Write(const Progress& progress) {
  if (!settings_.checkpoints) return;
  RequireFinite(parts_.replica, progress.step);
  const auto exchange = parts_.replica.ExchangeState();
  const fs::path directory = session_.BeginCheckpoint(progress.step);
  if (session_.rank() == 0) {
    parts_.replica.Save(directory / "model.pt");
    SaveAverage(directory / "averaged.pt");
    parts_.optimizer.Save(directory / "optimizer.pt");
    WriteBytes(directory / "exchange.bin", exchange);
    auto written = progress;
    written.average_updates = parts_.average != nullptr ? std::optional(parts_.average->updates()) : std::nullopt;
    WriteProgress(directory / "progress.json", written, course_);
  }
  session_.CommitCheckpoint(progress.step, static_cast<double>(progress.epoch));
  written_ = std::chrono::steady_clock::now();
}

bool SavedTraining::IsDue() {
  if (!settings_.checkpoint_every_s || !settings_.checkpoints) return false;
  const auto passed = std::chrono::duration<double>(std::chrono::steady_clock::now() - written_).count();
  double due[] = {session_.rank() == 0 && passed >= *settings_.checkpoint_every_s ? 1.0 : 0.0};
  session_.Sum(due);
  return due[0] > 0;
}

std::optional<Progress> SavedTraining::Restore() {
  const fs::path directory = session_.ResumeFrom();
  if (directory.empty()) return {};
  auto progress = ReadProgress(directory / "progress.json", course_);
  parts_.replica.Load(directory / "model.pt");
  RestoreAverage(progress, directory / "averaged.pt");
  parts_.optimizer.Load(directory / "optimizer.pt");
  RestoreExchange(parts_.replica, directory / "exchange.bin");
  return progress;
}

void SavedTraining::SaveAverage(const fs::path& file) {
  if (parts_.average == nullptr) return;
  const AveragedWeights averaged(parts_.average);
  parts_.replica.Save(file);
}

void SavedTraining::RestoreAverage(const Progress& progress, const fs::path& file) {
  if (parts_.average == nullptr) return;
  if (!progress.average_updates) return parts_.average->Restart();
  const AveragedWeights averaged(parts_.average);
  parts_.replica.Load(file);
  parts_.average->Continue(*progress.average_updates);
}

}  // namespace trainers
