#include "launcher/cluster/job_states.h"

#include <algorithm>
#include <array>

namespace slipway::launcher {
namespace {

struct StateRow {
  std::string_view name;
  std::string_view words;
};

/// In the order of JobState.
constexpr std::array<StateRow, 12> kJobStates{{
    {"PENDING", "waits in the queue"},
    {"RUNNING", "runs"},
    {"SUSPENDED", "is suspended: it keeps its nodes, but does not run"},
    {"COMPLETED", "has ended well"},
    {"CANCELLED", "was cancelled"},
    {"FAILED", "has failed"},
    {"TIMEOUT", "ran past its time limit"},
    {"NODE_FAIL", "was ended because one of its nodes failed"},
    {"PREEMPTED", "was ended to make room for a job of higher priority"},
    {"BOOT_FAIL", "was ended because one of its nodes did not boot"},
    {"DEADLINE", "was ended at its deadline"},
    {"OUT_OF_MEMORY", "was ended because it used more memory than it asked for"},
}};

/// In the order of JobFlag.
constexpr std::array<StateRow, 15> kJobFlags{{
    {"LAUNCH_FAILED", "Slurm could not start it on its nodes"},
    {"REQUEUE", "it goes back to the queue"},
    {"REQUEUE_HOLD", "it goes back to the queue and is held there"},
    {"SPECIAL_EXIT", "it is held: its exit status is one that the site treats specially"},
    {"RESIZING", "its number of nodes is changing"},
    {"CONFIGURING", "its nodes are being made ready"},
    {"COMPLETING", "its nodes are being cleaned up"},
    {"STOPPED", "a signal has stopped it, and its cores are kept for it"},
    {"RECONFIG_FAIL", "its nodes could not be configured"},
    {"POWER_UP_NODE", "its nodes are being switched on"},
    {"REVOKED", "it runs on another cluster of the federation"},
    {"REQUEUE_FED", "it goes back to the queue of the federation"},
    {"RESV_DEL_HOLD", "it is held because its reservation was deleted"},
    {"SIGNALING", "a signal is on its way to it"},
    {"STAGE_OUT", "its burst buffer is being copied out"},
}};

template <class Enum, std::size_t size>
constexpr std::array<Enum, size> InOrder() {
  std::array<Enum, size> all{};
  for (std::size_t i = 0; i < size; ++i) all[i] = static_cast<Enum>(i);
  return all;
}

constexpr auto kAllStates = InOrder<JobState, kJobStates.size()>();
constexpr auto kAllFlags = InOrder<JobFlag, kJobFlags.size()>();
static_assert(kAllStates.back() == JobState::kOutOfMemory && kAllFlags.back() == JobFlag::kStageOut);

template <class Enum, class Rows>
std::optional<Enum> Find(const Rows& rows, std::string_view name) {
  const auto found = std::find_if(rows.begin(), rows.end(), [&](const StateRow& row) { return row.name == name; });
  return found == rows.end() ? std::nullopt : std::optional(static_cast<Enum>(found - rows.begin()));
}

bool Contains(std::span<const JobFlag> flags, std::initializer_list<JobFlag> wanted) {
  return std::find_first_of(flags.begin(), flags.end(), wanted.begin(), wanted.end()) != flags.end();
}

}  // namespace

std::string_view NameOf(JobState state) { return kJobStates[static_cast<std::size_t>(state)].name; }
std::string_view NameOf(JobFlag flag) { return kJobFlags[static_cast<std::size_t>(flag)].name; }
std::optional<JobState> JobStateOf(std::string_view name) { return Find<JobState>(kJobStates, name); }
std::optional<JobFlag> JobFlagOf(std::string_view name) { return Find<JobFlag>(kJobFlags, name); }
std::span<const JobState> AllJobStates() { return kAllStates; }
std::span<const JobFlag> AllJobFlags() { return kAllFlags; }

bool IsFinal(JobState state) { return state >= JobState::kCompleted; }

JobPhase PhaseOf(JobState state, std::span<const JobFlag> flags) {
  if (state == JobState::kPending) return JobPhase::kWaiting;
  if (!IsFinal(state)) return JobPhase::kRunning;
  const bool goes_on = Contains(flags, {JobFlag::kCompleting, JobFlag::kStageOut, JobFlag::kRequeue,
                                        JobFlag::kRequeueHold, JobFlag::kRequeueFederated});
  return goes_on ? JobPhase::kEnding : JobPhase::kOver;
}

std::string InWords(JobState state, std::span<const JobFlag> flags) {
  std::string words(kJobStates[static_cast<std::size_t>(state)].words);
  for (const auto flag : flags) {
    words += "; ";
    words += kJobFlags[static_cast<std::size_t>(flag)].words;
  }
  return words;
}

}  // namespace slipway::launcher
