/// The datasets of a run: staged before or while the ranks run, held until they have ended, then released.
///
/// ```
///   staged first    the ranks start when all of it is published
///   overlap         they start when its first file has arrived; the rest arrives while they run
///   stream          they start when its first file has arrived; files come and go until they have ended
/// ```
///
/// In runs on several nodes, NodeStaging first stages what each node has for itself, on all nodes. This process stages
/// what all nodes see.
#pragma once

#include <exception>
#include <memory>
#include <vector>

#include "core/event_loop.h"
#include "core/interrupt.h"
#include "core/output.h"
#include "launcher/plan/plan.h"
#include "launcher/run/data/dataset_staging.h"
#include "launcher/run/data/node_staging.h"
#include "launcher/run_folder/run_folder.h"

namespace slipway::launcher {

class StagingSession {
 public:
  StagingSession(const RunFolder& folder, const Plan& plan, Output& output, EventLoop& loop, Interrupt& interrupt);
  StagingSession(const StagingSession&) = delete;
  StagingSession& operator=(const StagingSession&) = delete;

  /// Returns when the ranks can start. After that, a failed staging asks `interrupt` to end the run. `nodes`: the nodes
  /// of a run on several, all joined; they must live until Release(). Null: only this machine.
  /// Errors: those of staging, naming the dataset, and of NodeStaging; Error(kInterrupted) when the user ends it.
  void Begin(Nodes* nodes = nullptr);
  /// The directories of the data for the ranks. After Begin().
  const StagedDirectories& directories() const { return directories_; }

  /// Remarks for the user about data that existed before the run, in lines; empty: none.
  const std::string& remarks() const { return remarks_; }

  /// Call it after the ranks have ended. Ends streams and unfinished stagings. Stagings kept for other runs are
  /// completed, unless the user has interrupted. Errors: that of a staging that failed while the ranks ran.
  void End();

  /// Releases the leases. Removes data kept for this run only, unless another run uses it. A copy that cannot be
  /// removed causes a warning; the run continues.
  void Release();

 private:
  void BeginOnNodes(Nodes& nodes);
  void MakeDatasets(const std::vector<staging::StagingPlan>& plans);
  void Start(DatasetStaging& dataset);
  /// Serves the loop until `reached`; cancels when the user asks. Errors: those of the staging.
  void Await(DatasetStaging& dataset, const std::function<bool()>& reached);
  void StageWhole(DatasetStaging& dataset);
  /// The ranks need no more of it to start.
  void AwaitFirst(DatasetStaging& dataset);
  void OnNews(DatasetStaging& dataset);
  void OnFailure(const DatasetStaging& dataset, const Error& error);
  /// After the failure of data that the running ranks need.
  void EndRun(const Error& error);
  StagedPlace PlaceOf(const staging::StagingPlan& plan) const;
  void Announce(const DatasetStaging& dataset);
  void TellOfMended(const DatasetStaging& dataset);
  void EndOne(DatasetStaging& dataset);
  void RemoveWhatArrived(const DatasetStaging& dataset);
  void RemoveStaged(const DatasetStaging& dataset);
  void WithWarning(const staging::StagingPlan& plan, const std::function<void()>& remove);

  const RunFolder& folder_;
  const Plan& plan_;
  Output& output_;
  EventLoop& loop_;
  Interrupt& interrupt_;
  enum class Stage { kBegin, kRanksRun, kRanksEnded } stage_ = Stage::kBegin;
  std::vector<std::unique_ptr<DatasetStaging>> datasets_;  ///< in the order of the plan, without those of the nodes
  std::unique_ptr<NodeStaging> node_staging_;              ///< null where no node has data for itself
  StagedDirectories directories_;
  std::string remarks_;
  std::exception_ptr failure_;
  bool asked_by_us_ = false;  ///< not the user: a staging failed, and asked to end the run
};

}  // namespace slipway::launcher
