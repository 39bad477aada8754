/// Which steps of a workflow have ended, by the names of empty files: `ended/STATE-STEP` in the run folder, such as
/// "done-train.3". For the jobs of steps: one listing shows whether a look at all journals can find the run over.
///
/// A process writes the mark of a step before it records the end in the step's journal, so an end in a journal always
/// has its mark. A mark without such an end, of a process that was killed between the two, costs a look at the journals
/// and nothing else. The journals decide.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "launcher/run/workflow/workflow_folder.h"
#include "launcher/workflow/step_board.h"

namespace slipway::launcher {

/// From now on the ends of the steps are marked. Before the first job of the run is submitted: a run of a version
/// without marks never has them.
void BeginMarks(const RunFolder& folder);

/// The step is about to end so. Does nothing in a run without marks. False while the disk is full.
/// Cost: one file. Errors: SystemError for other reasons.
bool MarkEnd(const RunFolder& folder, const std::string& step, StepState state);
/// The step no longer ends so: it is carried out again.
void RemoveMark(const RunFolder& folder, const std::string& step, StepState state);

using StepEnds = std::vector<std::pair<std::string, StepState>>;

/// Whether all steps have ended or need, by way of others, one without a result. A skipped one counts as ended only.
/// Pure.
bool CoverAll(const StepEnds& ends, const std::vector<StoredStep>& steps);

/// Whether all steps of the run may have ended. False: at least one has not. True in a run without marks, and while the
/// disk is full.
/// Cost: one file, one listing, and the plan of the workflow.
bool MayBeOver(const RunFolder& folder);

}  // namespace slipway::launcher
