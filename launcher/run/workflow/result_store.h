/// Published results of steps, beside the runs: what later runs reuse.
///
///   RUNS/.results/KEY.1/manifest.json    slipway.workflow.result/1, written last
///   RUNS/.results/KEY.1/outputs/         the files of the step
///   RUNS/.results/.last/WORKFLOW/STEP    the id of the newest result of a step; then what its last results cost
///
/// The id of a result is its key and a number: a step that is forced to run again gets the next number, and so do steps
/// that depend on it. A folder appears by one rename and never changes after it.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/json.h"
#include "launcher/run/workflow/result_lease.h"
#include "launcher/workflow/step_key.h"

namespace slipway::launcher {

/// One published file or folder.
struct PublishedOutput {
  std::string path;   ///< relative to the folder of the outputs
  std::string stamp;  ///< StampOfTree
};

/// What the making of a result took.
struct StepCost {
  double seconds = 0;
  int cpus = 1;
  int gpus = 0;
  std::optional<int> nodes = {};  ///< nothing: not recorded
};

struct StepResult {
  std::string key;
  std::string workflow;
  std::string step;
  std::string run;      ///< id of the run that has made it
  std::string started;  ///< UTC, ISO 8601
  StepCost cost;
  KeyParts parts;
  std::map<std::string, PublishedOutput> outputs;
  Json values;                       ///< what references read, without outputs and folder
  std::filesystem::path run_folder;  ///< of an experiment or ensemble; else empty
};

class ResultStore {
 public:
  static constexpr std::size_t kMostCosts = 9;

  explicit ResultStore(const std::filesystem::path& runs_directory);

  const std::filesystem::path& folder() const { return folder_; }
  /// From here on, results that Hold gives and Publish makes stay while this object lives (result_lease.h).
  void HoldFor(const std::string& run) { lease_.emplace(folder_, run); }
  /// To be called every kLeaseRenewal after HoldFor.
  void RenewLease() { lease_->Renew(); }

  /// The result stays, if it is still there. Only after HoldFor.
  void Keep(const std::string& id) { lease_->Add(id); }

  /// The ids of all results, complete or damaged, sorted.
  std::vector<std::string> All() const;
  /// The newest result of a key, complete or damaged; nothing when there is none. Held after HoldFor.
  std::optional<std::string> Hold(const std::string& key);
  /// The id that the next result of a key gets.
  std::string NextId(const std::string& key);

  /// Read once. Errors: Error(kEnvironment) for a damaged manifest.
  const StepResult& Read(const std::string& id);
  /// What references to a result read: its values, `folder`, and `outputs` with absolute paths.
  const Json& ValuesOf(const std::string& id);
  /// Why a result cannot be used: "output 'train' was changed or deleted after it was published"; empty: it can.
  std::string WhyDamaged(const std::string& id);

  /// Writes the manifest into `prepared`, makes its files durable where there are outputs, and publishes it. When
  /// another run has published the same id meanwhile, that one stays and `prepared` is removed.
  /// The result is held after HoldFor. Errors: SystemError; then nothing is published and `prepared` stays.
  void Publish(const std::filesystem::path& prepared, const std::string& id, StepResult result);

  /// The newest result of a step, whatever its key.
  std::optional<std::string> LastOf(const std::string& workflow, const std::string& step) const;
  /// What its last results cost, the newest first; at most kMostCosts.
  std::vector<StepCost> CostsOf(const std::string& workflow, const std::string& step) const;
  /// Whether a step has ever had a result here, also one that was removed.
  bool HasHad(const std::string& workflow, const std::string& step) const;
  bool IsThere(const std::string& id) const;
  /// Whether it is there, complete, and made by this run.
  bool IsOf(const std::string& run, const std::string& id);

 private:
  std::optional<std::string> Newest(const std::string& key);
  std::filesystem::path FolderOf(const std::string& id) const { return folder_ / id; }
  void NoteLast(const StepResult& result, const std::string& id) const;
  void Complete(const StepResult& result, const std::string& id, bool is_durable) const;

  std::filesystem::path folder_;
  std::optional<ResultLease> lease_;
  std::unordered_map<std::string, int> newest_;  ///< key -> number
  std::unordered_map<std::string, StepResult> read_;
  std::unordered_map<std::string, std::unique_ptr<Json>> values_;
};

}  // namespace slipway::launcher
