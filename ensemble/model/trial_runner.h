/// The port through which the ensemble starts trials; the launcher implements it, tests fake it.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/json.h"
#include "core/process.h"
#include "core/words.h"

namespace slipway::ensemble {

/// Number of a trial in its study, from 0. Folder: trials/00007.
using TrialNumber = std::int64_t;

/// What one attempt has for itself on one node.
struct AllocatedNode {
  std::string node;               ///< host name
  std::vector<int> cores;         ///< numbers of the operating system; empty: not bound to cores
  std::vector<std::string> gpus;  ///< as the node calls them
};

struct TrialStart {
  TrialNumber trial = 0;
  int attempt = 1;
  const Json& parameters;  ///< object: parameter name -> value
  /// Which of the runs of its configuration it is, from 0: programs take their random seed from it.
  int repeat = 0;
  std::optional<TrialNumber> parent = {};  ///< the first attempt goes on from the newest checkpoint of this trial
  std::vector<AllocatedNode> place = {};   ///< empty: anywhere
  /// How far it may go before the scheduler looks at it again, in the scheduler's resource; nothing: to its end. A
  /// program that ends there with status 75 is paused until it may go on; one that knows nothing of it is told.
  std::optional<double> limit = {};
};

/// Why the manager ended a trial. Stored in the book as words.
/// kTimeLimit: the time of the ensemble is over, the trial goes on later; kTrialTimeLimit: its own time is over.
enum class StopReason { kPruned, kPaused, kTimeLimit, kCancelled, kTrialTimeLimit };

std::string_view StopReasonName(StopReason reason);

/// What ended a trial from outside, as far as the runner can know it. kTimedOut, kCancelled: by the batch system that
/// it ran in, or by who asked that for it. kNotStarted: nothing of its program has run, and it is not the program that
/// is to blame. kDiskFull: nothing could be written while it ran, so what it reported may not be all.
enum class OutsideCause { kNone, kOutOfMemory, kNodeLost, kTimedOut, kCancelled, kNotStarted, kDiskFull };
WordTable<OutsideCause> WordsOf(OutsideCause);

/// How carefully to look for room. kGlance costs next to nothing, and may miss a quota.
enum class DiskSpaceCheck { kGlance, kTry };

struct TrialEnded {
  TrialNumber trial = 0;
  int attempt = 1;
  ExitStatus status;
  std::string detail;  ///< for a failure: which rank, why, the last lines of its log
  OutsideCause cause = OutsideCause::kNone;
  std::optional<double> time = {};  ///< when, if that may be long ago; seconds since 1970
  std::optional<int> rank = {};     ///< of a failure: the one that failed first
  std::string last_line = {};       ///< of its log; empty: it wrote nothing, or nobody knows
};

struct TrialMetric {
  TrialNumber trial = 0;
  int attempt = 1;
  std::int64_t step = 0;
  std::optional<double> epoch;
  std::string name;
  double value = 0;                 ///< may be NaN or infinite
  std::optional<double> time = {};  ///< when it was reported; seconds since 1970
};

/// What was released into a queue runs since `time`, in seconds since 1970.
struct TrialBegan {
  TrialNumber trial = 0;
  int attempt = 1;
  double time = 0;
};

/// The user asked to end everything (Ctrl-C, SIGTERM, `slipway cancel`).
struct StopAsked {};

/// Nothing can be started on this node any more. The attempts that ran there end on their own.
struct NodeLost {
  std::string node;  ///< as in AllocatedNode
};

using TrialEvent = std::variant<TrialEnded, TrialMetric, TrialBegan, StopAsked, NodeLost>;

class TrialRunner {
 public:
  virtual ~TrialRunner() = default;

  /// The process that an attempt at `place` will hang on, where it is there before any attempt: it starts many, and
  /// with its end they have all ended. The claim of an attempt names it, which then needs no second commit before it
  /// runs. Nothing: each attempt has a process of its own, which Prepare starts.
  virtual std::optional<ProcessIdentity> SupervisorIdentity(const std::vector<AllocatedNode>& /*place*/) {
    return std::nullopt;
  }

  /// Starts the attempt held at its gate: nothing of the user's program runs before Release.
  /// The caller stores the identity durably in between, unless it is that of the SupervisorIdentity; if the manager
  /// dies first, the gate closes for good. The identity of what will be no process of this machine is empty. Errors:
  /// Error when it cannot be started.
  virtual ProcessIdentity Prepare(const TrialStart& start) = 0;
  virtual void Release(TrialNumber trial) = 0;

  /// Whether what is released waits in a queue first. TrialBegan tells when it runs; its time counts from then on.
  virtual bool Queues() const { return false; }

  /// Asks a running trial to end: stop file and, for foreign programs, a signal; after the grace time it is killed.
  /// TrialEnded follows. Unknown trials are ignored.
  virtual void Stop(TrialNumber trial, StopReason reason) = 0;

  /// Ends what is left of an attempt of an earlier manager, if exactly that process still runs; returns when it is
  /// gone.
  virtual void EndOrphan(const ProcessIdentity& identity) = 0;

  /// What an attempt of an earlier manager left behind, asked after EndOrphan: its metrics and, only when it had ended
  /// by itself before anyone ended it, its TrialEnded. Without TrialEnded the attempt is lost and the trial runs again;
  /// so a runner that records exits durably overrides this, and a trial that was complete is never run a second time.
  virtual std::vector<TrialEvent> Recover(TrialNumber /*trial*/, int /*attempt*/) { return {}; }

  /// Whether an attempt of an earlier manager goes on without one, asked after Recover when that knew of no end. If so
  /// Wait tells of it as of any other; if not, it is lost, and the trial runs again.
  virtual bool GoesOn(TrialNumber /*trial*/, int /*attempt*/) { return false; }

  /// Why nothing more can be written where trials write, such as "No space left on device in '/scratch/runs'"; empty:
  /// there is room.
  virtual std::string WhyNoDiskSpace(DiskSpaceCheck /*check*/) { return {}; }

  /// Waits for events, at most `limit`; returns all that are there, metrics of a trial before its end.
  virtual std::vector<TrialEvent> Wait(std::chrono::nanoseconds limit) = 0;
};

}  // namespace slipway::ensemble
