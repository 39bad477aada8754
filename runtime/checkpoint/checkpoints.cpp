#include "runtime/checkpoint/checkpoints.h"

#include <fmt/format.h>

#include "core/checkpoint.h"
#include "core/error.h"
#include "runtime/status.h"

namespace slipway::runtime {

std::string Checkpoints::OnFirstRank(const std::function<std::string()>& action, Communicator& communicator) const {
  std::string answer = "+";  // first letter: + the result follows, - a message follows
  if (communicator.rank() == 0) {
    try {
      answer += action();
    } catch (const std::exception& error) {
      answer = fmt::format("-{}", error.what());
    }
  }
  answer = communicator.BroadcastText(answer, 0);
  if (answer.front() == '-') throw RuntimeError(SLIPWAY_ERROR_IO, answer.substr(1));
  return answer.substr(1);
}

std::filesystem::path Checkpoints::Begin(std::int64_t step, Communicator& communicator) {
  if (step < 0) throw RuntimeError(SLIPWAY_ERROR_ARGUMENT, fmt::format("the step is negative: {}", step));
  if (settings_.directory.empty()) {
    throw RuntimeError(SLIPWAY_ERROR_STATE, "SLIPWAY_CHECKPOINT_DIR is not set: start the program with `slipway run`");
  }
  const auto make = [&] { return BeginCheckpoint(settings_.directory, static_cast<std::uint64_t>(step)).string(); };
  prepared_ = OnFirstRank(make, communicator);
  return prepared_;
}

void Checkpoints::Commit(std::int64_t step, double epoch, Communicator& communicator) {
  if (prepared_.empty()) {
    throw RuntimeError(SLIPWAY_ERROR_STATE, "slipway_checkpoint_commit without slipway_checkpoint_begin");
  }
  communicator.Barrier();  // every rank has written its files
  const auto publish = [&] {
    CheckpointInfo info;
    info.step = static_cast<std::uint64_t>(step);
    info.epoch = epoch;
    info.world_size = communicator.size();
    info.spec_hash = settings_.spec_hash;
    CommitCheckpoint(prepared_, info);
    PruneCheckpoints(settings_.directory, settings_.keep);
    return std::string();
  };
  OnFirstRank(publish, communicator);
  prepared_.clear();
}

std::filesystem::path Checkpoints::ResumeFrom(Communicator& communicator) {
  const auto verify = [&]() -> std::string {
    if (settings_.resume_from.empty()) return {};
    if (!ReadCheckpoint(settings_.resume_from)) {
      throw RuntimeError(SLIPWAY_ERROR_IO,
                         fmt::format("the checkpoint '{}' is missing or damaged", settings_.resume_from.string()));
    }
    return settings_.resume_from.string();
  };
  return OnFirstRank(verify, communicator);
}

}  // namespace slipway::runtime
