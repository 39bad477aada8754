/// Decides which steps have a result already, and why others have none.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/clock.h"
#include "launcher/run/workflow/code_states.h"
#include "launcher/run/workflow/result_store.h"
#include "launcher/workflow/step_key.h"
#include "launcher/workflow/workflow.h"

namespace slipway::launcher {

/// What is known of a step once all that it needs have their ids.
struct StepDecision {
  std::string key;
  KeyParts parts;
  bool reuse = false;
  bool own = false;                           ///< this run has made the result before
  std::string id;                             ///< of the result: the one that is there, or the one to be made
  std::string why;                            ///< why it runs: "file train.py has changed"; empty when it is reused
  bool is_first = false;                      ///< it runs, and has had no result before
  std::map<std::string, std::string> stamps;  ///< StampOfTree of FilesInKey by path, when the key was made
};

/// Asks steps in an order in which those that they need come first.
class StepReuse {
 public:
  /// `forced`: names of steps or groups that run although they have a result. `made`: results that this run has made
  /// before, by step: they are not made again. All must outlive it.
  StepReuse(const Workflow& workflow, ResultStore& store, const std::vector<std::string>& forced,
            const std::map<std::string, std::string>& made, Clock& clock = SystemClock());

  /// Errors: SystemError when a file of the step cannot be read; those of CodeStates. An earlier decision stays then.
  const StepDecision& Decide(StepIndex step);
  /// Decides again on a step whose FilesInKey have changed since. False, and no new decision, when they are the same.
  /// Cost: a look at each of the files, no content. Looks at large data that many steps share take a twentieth of the
  /// time at most: one that takes more than 50 ms counts for 20 times as long. Not where something has changed within
  /// so long before it: more may change. Errors: those of Decide.
  bool DecideAgainIfChanged(StepIndex step);
  /// No look that was taken before counts any longer.
  void ForgetLooks() { looks_.clear(); }
  /// The step has this result: it was decided elsewhere.
  void Know(StepIndex step, const std::string& id) { decisions_[step].emplace().id = id; }
  /// The decision on a step that was asked for before.
  const StepDecision& of(StepIndex step) const { return *decisions_[step]; }
  /// What it has looked at.
  Fingerprints& files() { return files_; }

 private:
  struct Look {
    std::string stamp;
    SteadyTime counts_until;
  };
  const std::string& LookAt(const std::filesystem::path& path);
  bool IsForced(const Step& step) const;
  /// Nothing: it has not run yet.
  std::optional<std::string> WhyAgain(const Step& step, const StepDecision& decision) const;

  const Workflow& workflow_;
  ResultStore& store_;
  const std::vector<std::string>& forced_;
  const std::map<std::string, std::string>& made_;
  Clock& clock_;
  Fingerprints files_;
  std::map<std::string, Look> looks_;
  CodeStates code_;
  std::vector<std::optional<StepDecision>> decisions_;
};

}  // namespace slipway::launcher
