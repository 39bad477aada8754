/// The life of a group of ranks as a state machine. Pure.
#pragma once

namespace slipway::launcher {

/// `end` stands for each of kFail, kStop and kCannotStart.
///
///   gathering --kComplete--> ready ------kRelease--> running --end--> ending
///       |                                               ^
///       +-----kRelease-----> released ---kComplete------+
///
///   gathering, ready, released --end--> ending: the programs never run
///   all of these --kLeaderEnded--> draining --kSilent--> over
enum class GroupStage {
  kGathering,  ///< not all shims have come
  kReady,      ///< all shims have come; the programs are not released
  kReleased,   ///< released; not all shims have come
  kRunning,    ///< the programs run
  kEnding,     ///< the shims were ordered to end the programs
  kDraining,   ///< mpirun, or the lone shim, has ended; last words may be on their way
  kOver,
};

enum class GroupEvent {
  kComplete,     ///< the last shim has come
  kRelease,      ///< the caller wants the programs to run
  kFail,         ///< a rank failed
  kStop,         ///< the caller wants the programs to end
  kCannotStart,  ///< the ranks that came cannot be one job, or some do not come
  kLeaderEnded,  ///< mpirun, or the lone shim
  kSilent,       ///< no shim speaks any more, or none was waited for
};

/// Why the programs were ended. A stop overrides earlier causes.
enum class GroupEndCause { kNone, kFailure, kStop, kNoStart };

struct GroupState {
  GroupStage stage = GroupStage::kGathering;
  GroupEndCause cause = GroupEndCause::kNone;
  bool began = false;  ///< the programs ran

  friend bool operator==(const GroupState&, const GroupState&) = default;
};

/// Events without a meaning in this state are ignored.
GroupState Next(GroupState state, GroupEvent event);

}  // namespace slipway::launcher
