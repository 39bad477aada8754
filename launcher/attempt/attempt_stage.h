/// The life of an attempt as a state machine. Pure.
#pragma once

namespace slipway::launcher {

///   held --kRelease--> running
///   held, running --kStop--> saving --kPatienceOver--> ending
///   held, running, saving, ending --kKill--> killed
///   all of these --kEnded--> over
enum class AttemptStage {
  kHeld,     ///< the ranks wait at their gate; the attempt can be recorded before they run
  kRunning,  ///< the program runs
  kSaving,   ///< it was asked to stop, and may save before it ends
  kEnding,   ///< SIGTERM was sent; after a grace time SIGKILL follows
  kKilled,   ///< SIGKILL was sent
  kOver,     ///< all ranks have ended
};

enum class AttemptEvent { kRelease, kStop, kPatienceOver, kKill, kEnded };

/// Events without a meaning in this stage are ignored.
constexpr AttemptStage Next(AttemptStage stage, AttemptEvent event) {
  if (stage == AttemptStage::kOver) return stage;
  switch (event) {
    case AttemptEvent::kRelease: return stage == AttemptStage::kHeld ? AttemptStage::kRunning : stage;
    case AttemptEvent::kStop: return stage <= AttemptStage::kRunning ? AttemptStage::kSaving : stage;
    case AttemptEvent::kPatienceOver: return stage == AttemptStage::kSaving ? AttemptStage::kEnding : stage;
    case AttemptEvent::kKill: return AttemptStage::kKilled;
    case AttemptEvent::kEnded: return AttemptStage::kOver;
  }
  return stage;
}

}  // namespace slipway::launcher
