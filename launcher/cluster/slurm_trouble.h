/// Kinds of trouble with Slurm, by what the user must do. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/error.h"
#include "core/words.h"

namespace slipway::launcher {

enum class SlurmTrouble {
  kNotBuilt,   ///< this installation has no module for any libslurm
  kNoLibrary,  ///< the libslurm of our modules is not on this machine
  kNoConfiguration,
  kController,      ///< does not answer
  kAuthentication,  ///< munge
  kVersion,         ///< the controller does not understand our libslurm
  kTimeout,         ///< no answer within the deadline
  kHelper,          ///< the helper died, or answered nonsense
  kClosed,          ///< the partition takes no jobs at present
  kPartition,       ///< these three: no such, or not for us
  kAccount,
  kQos,
  kTime,       ///< the time limit is beyond the partition's
  kNodes,      ///< more nodes than there are or than are allowed
  kResources,  ///< no node has the requested resources
  kLimit,      ///< a limit of the account or QOS
  kJobLimit,   ///< such a limit, which the job is beyond alone
  kFull,       ///< the controller has reached its limit of jobs
  kBurstBuffer,
  kDependency,
  kReservation,
  kDenied,
  kUnknownJob,    ///< the controller does not remember it
  kOtherJob,      ///< the number is that of another job by now
  kOtherCluster,  ///< the job is not one of this cluster
  kOver,          ///< the job has ended already
  kNotNow,        ///< the job's state does not allow it
  kRefused        ///< anything else
};

/// The words of the helper's messages: "no-library".
WordTable<SlurmTrouble> WordsOf(SlurmTrouble);

/// The report of the helper and of Slurm.
struct TroubleReport {
  SlurmTrouble trouble = SlurmTrouble::kRefused;
  int code = 0;        ///< Slurm's number, 0 for none
  std::string text;    ///< Slurm's words for it
  std::string during;  ///< "submitting job 'fashion'"

  bool operator==(const TroubleReport&) const = default;
};

/// Whether the same request may succeed later. Pure.
bool MayPass(SlurmTrouble trouble);
/// Whether the site takes no more jobs now: a limit of the controller, the account or the QOS, or a closed partition.
/// Pure.
bool MayHaveRoomLater(SlurmTrouble trouble);

/// The end of what a program of Slurm wrote to stderr, on one line: the beginning may be a banner. Lines lose `prefix`,
/// which the program's own ones begin with. Pure.
std::string EndOfErrors(std::string_view errors, std::string_view prefix = {});

/// An error of Slurm with its kind, so that callers can handle some kinds themselves.
class SlurmError : public Error {
 public:
  /// `next_step`: where the usual one of this trouble says too little.
  explicit SlurmError(TroubleReport report, std::string next_step = {});
  SlurmTrouble trouble() const { return report_.trouble; }
  const TroubleReport& report() const { return report_; }
  void AddToDocument(Json& document) const override;

 private:
  TroubleReport report_;
};

}  // namespace slipway::launcher
