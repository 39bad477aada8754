/// The port through which the ensemble starts trials. The launcher implements it; tests fake it.
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

/// The cores and GPUs of one node that one attempt has for itself.
struct AllocatedNode {
  std::string node;               ///< host name
  std::vector<int> cores;         ///< as the operating system numbers them; empty: not bound to cores
  std::vector<std::string> gpus;  ///< as the node calls them
};

struct TrialStart {
  TrialNumber trial = 0;
  int attempt = 1;
  const Json& parameters;  ///< object: parameter name -> value
  /// Which run of its configuration it is, from 0. Programs derive their random seed from it.
  int repeat = 0;
  std::optional<TrialNumber> parent = {};  ///< the first attempt goes on from the newest checkpoint of this trial
  std::vector<AllocatedNode> place = {};   ///< empty: anywhere
  /// The scheduler's resource at which the scheduler may pause it next; nothing: its end. A program that ends there
  /// with status 75 is paused until it may go on. Programs that ignore the limit are stopped by Stop.
  std::optional<double> limit = {};
};

/// Why the manager ended a trial. Stored in the book as words.
/// kTimeLimit: the time of the ensemble is over; the trial goes on later. kTrialTimeLimit: its own time is over.
enum class StopReason { kPruned, kPaused, kTimeLimit, kCancelled, kTrialTimeLimit };
WordTable<StopReason> WordsOf(StopReason);

/// What ended a trial from outside, as far as the runner knows.
/// kTimedOut, kCancelled: the batch system ended it, by itself or for a user. kNotStarted: its program has not run, and
/// the program is not the cause. kDiskFull: nothing could be written while it ran, so reports may be missing.
enum class OutsideCause { kNone, kOutOfMemory, kNodeLost, kTimedOut, kCancelled, kNotStarted, kDiskFull };
WordTable<OutsideCause> WordsOf(OutsideCause);

/// How carefully to check for free disk space. kGlance costs almost nothing, but may miss a quota.
enum class DiskSpaceCheck { kGlance, kTry };

struct TrialEnded {
  TrialNumber trial = 0;
  int attempt = 1;
  ExitStatus status;
  std::string detail;  ///< for a failure: which rank, why, the last lines of its log
  OutsideCause cause = OutsideCause::kNone;
  std::optional<double> time = {};  ///< when, if that may be long ago; seconds since 1970
  std::optional<int> rank = {};     ///< of a failure: the rank that failed first
  std::string last_line = {};       ///< of that rank's log; empty: no log, or unknown
};

/// One reported value; also a row of the trial book.
struct MetricRecord {
  TrialNumber trial = 0;
  int attempt = 1;
  std::string name;
  std::int64_t step = 0;
  std::optional<double> epoch;
  double value = 0;                 ///< may be NaN or infinite
  std::optional<double> time = {};  ///< when it was reported; seconds since 1970
};

/// An attempt that was released into a queue runs since `time`, in seconds since 1970.
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

using TrialEvent = std::variant<TrialEnded, MetricRecord, TrialBegan, StopAsked, NodeLost>;

class TrialRunner {
 public:
  virtual ~TrialRunner() = default;

  /// The supervisor of the attempts at `place`. It exists before any attempt and starts many; when it ends, they have
  /// all ended. The claim of an attempt names it, so the attempt needs no second commit before it runs.
  /// Nothing: Prepare starts a process for each attempt.
  virtual std::optional<ProcessIdentity> SupervisorIdentity(const std::vector<AllocatedNode>& /*place*/) {
    return std::nullopt;
  }

  /// Starts the attempt and holds it at its gate: the user's program does not run before Release.
  /// In between the caller stores the returned identity durably, unless it is that of SupervisorIdentity. If the
  /// manager dies first, the program never runs. The identity of an attempt that is no process of this machine is
  /// empty.
  /// Errors: Error when it cannot be started.
  virtual ProcessIdentity Prepare(const TrialStart& start) = 0;
  virtual void Release(TrialNumber trial) = 0;

  /// Whether released attempts wait in a queue first. TrialBegan follows when one runs; its time counts from then on.
  virtual bool Queues() const { return false; }

  /// Asks a running trial to end: by its stop file and, for foreign programs, by a signal. After the grace time the
  /// trial is killed. TrialEnded follows. Unknown trials are ignored.
  virtual void Stop(TrialNumber trial, StopReason reason) = 0;

  /// Ends the process of an attempt of an earlier manager, if exactly that process still runs. Returns when it is gone.
  virtual void EndOrphan(const ProcessIdentity& identity) = 0;

  /// The events that an attempt of an earlier manager left behind: its metrics and, only if it had ended by itself, its
  /// TrialEnded. Called after EndOrphan. Without TrialEnded the attempt is lost, and the trial runs again. A runner
  /// that records exits durably overrides this: then no complete trial runs a second time.
  virtual std::vector<TrialEvent> Recover(TrialNumber /*trial*/, int /*attempt*/) { return {}; }

  /// Whether an attempt of an earlier manager goes on without a manager. Called after Recover, if that returned no end.
  /// If true, Wait returns its events; if false, the attempt is lost, and the trial runs again.
  virtual bool GoesOn(TrialNumber /*trial*/, int /*attempt*/) { return false; }

  /// Why trials cannot write any more, such as "No space left on device in '/scratch/runs'". Empty: they can.
  virtual std::string WhyNoDiskSpace(DiskSpaceCheck /*check*/) { return {}; }

  /// Waits for events, at most `limit`. Returns all that have come; metrics of a trial come before its end.
  virtual std::vector<TrialEvent> Wait(std::chrono::nanoseconds limit) = 0;
};

}  // namespace slipway::ensemble
