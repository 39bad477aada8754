/// Notifications about workflows whose steps are Slurm jobs. No manager sends them: the process that records a failure
/// or the end does, and only one process records each.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/event_loop.h"
#include "core/interrupt.h"
#include "core/output.h"
#include "launcher/run_folder/run_folder.h"
#include "launcher/workflow/workflow.h"

namespace slipway::launcher {

/// What one process has recorded.
struct StepsNews {
  std::vector<std::pair<std::string, std::string>> failed;  ///< steps, with the reason
  std::optional<RunState> ended;                            ///< the end of the run

  bool empty() const { return failed.empty() && !ended; }
};

/// Sends them as `notify` of the workflow says, and waits for answers: see Notifier::Finish. What fails is a warning.
void SendNews(const RunFolder& folder, const Workflow& workflow, const StepsNews& news, EventLoop& loop,
              const Interrupt& interrupt, Output& output);

/// For a process that only looked: as the workflow was submitted. Never throws: the answer of the command counts more.
void SendNewsFromHere(const RunFolder& folder, const StepsNews& news);

}  // namespace slipway::launcher
