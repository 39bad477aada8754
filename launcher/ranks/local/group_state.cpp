#include "launcher/ranks/local/group_state.h"

namespace slipway::launcher {
namespace {

GroupState Run(GroupState state) {
  state.stage = GroupStage::kRunning;
  state.began = true;
  return state;
}

GroupState End(GroupState state, GroupEndCause cause) {
  if (state.stage == GroupStage::kOver) return state;
  const bool counts = state.cause == GroupEndCause::kNone || cause == GroupEndCause::kStop;
  if (counts) state.cause = cause;
  if (state.stage != GroupStage::kDraining) state.stage = GroupStage::kEnding;
  return state;
}

GroupState Complete(GroupState state) {
  if (state.stage == GroupStage::kReleased) return Run(state);
  if (state.stage == GroupStage::kGathering) state.stage = GroupStage::kReady;
  return state;
}

GroupState Release(GroupState state) {
  if (state.stage == GroupStage::kReady) return Run(state);
  if (state.stage == GroupStage::kGathering) state.stage = GroupStage::kReleased;
  return state;
}

}  // namespace

GroupState Next(GroupState state, GroupEvent event) {
  switch (event) {
    case GroupEvent::kComplete: return Complete(state);
    case GroupEvent::kRelease: return Release(state);
    case GroupEvent::kFail: return End(state, GroupEndCause::kFailure);
    case GroupEvent::kStop: return End(state, GroupEndCause::kStop);
    case GroupEvent::kCannotStart: return End(state, GroupEndCause::kNoStart);
    case GroupEvent::kLeaderEnded:
      if (state.stage != GroupStage::kOver) state.stage = GroupStage::kDraining;
      return state;
    case GroupEvent::kSilent:
      if (state.stage == GroupStage::kDraining) state.stage = GroupStage::kOver;
      return state;
  }
  return state;
}

}  // namespace slipway::launcher
