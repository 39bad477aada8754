#include "runtime/checkpoint/checkpoints.h"

#include <fmt/format.h>

#include <cmath>

#include "core/checkpoint.h"
#include "runtime/group/agreement.h"
#include "runtime/status.h"

namespace slipway::runtime {

namespace {

void RequireSameStep(std::int64_t step, Communicator& communicator) {
  auto reference = step;
  communicator.Broadcast(&reference, sizeof reference, 0);
  OnAllRanks(communicator, [&] {
    if (step == reference) return;
    throw RuntimeError(SLIPWAY_ERROR_MISMATCH, fmt::format("step {}, but step {} on rank 0", step, reference));
  });
}

}  // namespace

std::filesystem::path Checkpoints::Begin(std::int64_t step, Communicator& communicator) {
  RequireSameStep(step, communicator);
  prepared_ = OnFirstRank(communicator, [&] {
    if (step < 0) throw RuntimeError(SLIPWAY_ERROR_ARGUMENT, fmt::format("the step is negative: {}", step));
    if (settings_.directory.empty()) {
      throw RuntimeError(SLIPWAY_ERROR_STATE,
                         "SLIPWAY_CHECKPOINT_DIR is not set: start the program with `slipway run`");
    }
    return BeginCheckpoint(settings_.directory, static_cast<std::uint64_t>(step)).string();
  });
  prepared_step_ = step;
  begun_ = SystemClock().Steady();
  return prepared_;
}

void Checkpoints::Commit(std::int64_t step, double epoch, Communicator& communicator) {
  // Also the barrier: rank 0 goes on when every rank has come here, and so has written its files.
  OnAllRanks(communicator, [&] {
    if (!prepared_.empty() && step == prepared_step_) return;
    throw RuntimeError(SLIPWAY_ERROR_STATE, fmt::format("step {} has no slipway_checkpoint_begin", step));
  });
  OnFirstRank(communicator, [&] {
    if (!std::isfinite(epoch)) throw RuntimeError(SLIPWAY_ERROR_ARGUMENT, "the epoch is not a finite number");
    CheckpointInfo info;
    info.step = static_cast<std::uint64_t>(step);
    info.epoch = epoch;
    info.world_size = communicator.size();
    info.spec_hash = settings_.spec_hash;
    CommitCheckpoint(prepared_, info, begun_);
    PruneCheckpoints(settings_.directory, settings_.keep);
    return std::string();
  });
  prepared_.clear();
}

std::filesystem::path Checkpoints::ResumeFrom(Communicator& communicator) {
  const auto verify = [&]() -> std::string {
    if (settings_.resume_from.empty()) return {};
    if (!ReadCheckpoint(settings_.resume_from)) {
      RequireOwnVersion(settings_.resume_from);
      throw RuntimeError(SLIPWAY_ERROR_IO,
                         fmt::format("the checkpoint '{}' is missing or damaged", settings_.resume_from.string()));
    }
    return settings_.resume_from.string();
  };
  return OnFirstRank(communicator, verify);
}

}  // namespace slipway::runtime
