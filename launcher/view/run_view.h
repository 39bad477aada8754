/// What people look at of a run, read from its folder: the one model behind `report`, `watch`, `serve` and `compare`.
///
/// JSON document: `slipway.view/1`. All times are seconds since 1970, all durations seconds.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/json.h"
#include "ensemble/model/records.h"
#include "launcher/run_folder/run_state.h"
#include "launcher/view/accounting.h"

namespace slipway::launcher {

struct WorkDone {
  double done = 0;
  std::optional<double> total;
  std::string unit;              ///< "trials", "steps"
  std::optional<double> left_s;  ///< estimated; nothing: unknown
};

struct BestValue {
  std::string metric;
  std::optional<ensemble::Goal> goal;
  double value = 0;
  std::optional<ensemble::TrialNumber> trial;
  std::optional<double> step;
};

/// A stay in a phase.
struct PhaseSpan {
  std::string phase;
  double from = 0;
  std::optional<double> to;  ///< nothing: it is in it
  int attempt = 1;
};

struct RankEndView {
  int rank = 0;
  std::optional<int> exit_code;
  std::optional<int> signal;
};

struct AttemptView {
  int number = 1;
  std::optional<double> started;
  std::optional<double> ended;
  std::string reason;              ///< why it ended; empty: it did all its work, or runs
  std::vector<RankEndView> ranks;  ///< those that ended by themselves
};

struct DatasetView {
  std::string name;
  std::string tier;
  std::string directory;
  std::optional<double> from;
  std::optional<double> to;
  std::uint64_t bytes = 0;
  double seconds = 0;
  bool found = false;  ///< it was complete in the tier already
};

struct CheckpointView {
  std::uint64_t step = 0;
  std::uint64_t bytes = 0;
  double seconds = 0;  ///< 0: unknown
  double time = 0;
};

/// Times of a mean step of one rank.
struct RankSteps {
  int rank = 0;
  std::string host;
  double step_s = 0;
  double compute_s = 0;
  double wait_s = 0;
  double exchange_s = 0;
  double input_s = 0;
};

/// Of a program without a team: the whole attempt as one step, and `team` is empty.
struct StepsView {
  std::string team;
  std::uint64_t steps = 0;
  std::vector<RankSteps> ranks;
  std::string way = {};             ///< of its exchange: "direct"; empty: unknown
  std::string without_direct = {};  ///< why GPUs do not add up by themselves; empty: they do, or were not to
  Json collectives = {};            ///< of comm.json: those that belong to no team; null
  Json gpu_allreduce = {};          ///< of comm.json; null
};

struct CurveView {
  std::string metric;
  std::optional<ensemble::TrialNumber> trial;  ///< nothing: a single run
  int attempt = 1;
  std::uint64_t count = 0;  ///< of all reported values
  std::uint64_t not_finite = 0;
  std::optional<double> lowest;
  std::optional<double> highest;
  std::vector<double> step;
  std::vector<std::optional<double>> value;  ///< nothing: not finite
  std::vector<double> time;
};

struct ObjectiveView {
  std::string metric;
  std::string name;  ///< of the trial's value: "seconds to accuracy 0.75"
  ensemble::Goal goal = ensemble::Goal::kMinimize;
};

struct ParameterView {
  std::string name;
  std::string kind;  ///< the word of the spec: "log", "choice"
  std::optional<double> low;
  std::optional<double> high;
  std::vector<Json> values;  ///< of choice, ordinal and fixed
};

/// One element for each trial in every column.
struct TrialColumns {
  std::vector<ensemble::TrialNumber> number;
  std::vector<std::string> state;
  std::vector<std::vector<std::optional<double>>> value;  ///< one column for each objective
  std::vector<std::optional<int>> rank;                   ///< from 1; complete trials only
  std::vector<std::optional<double>> started;
  std::vector<std::optional<double>> ended;
  std::vector<int> attempts;
  std::vector<int> repeat;
  std::vector<std::optional<ensemble::TrialNumber>> parent;
  std::vector<std::string> origin;
  std::vector<std::string> place;  ///< "n1:0,1/gpu:0", of the latest attempt; or its host
  std::vector<std::string> reason;
  std::vector<std::pair<std::string, std::vector<Json>>> parameters;  ///< null: not active
};

/// An attempt of a trial that ran.
struct TrialSpan {
  double started = 0;
  std::optional<double> ended;
  int nodes = 1;
  bool lost = false;  ///< nothing of it counts: it failed, was cancelled, or its manager was lost
};

struct ImportanceView {
  std::string parameter;
  double share = 0;
  double low = 0;
  double high = 0;
};

/// Failures of one kind.
struct FailureView {
  std::string what;
  int count = 0;
  std::vector<ensemble::TrialNumber> trials;  ///< the first 20
  std::optional<ensemble::TrialNumber> trial;
  std::optional<int> rank;
  std::string host;
  std::vector<std::string> lines;  ///< the end of the log
};

struct EventView {
  double time = 0;
  std::string event;
  std::string text;
};

struct RunView {
  std::string run;
  std::string folder;
  std::string name;
  bool ensemble = false;
  std::string engine;
  int nodes = 1;
  int ranks = 1;
  std::string description;
  std::vector<std::string> tags;
  Phase phase = Phase::kCreated;
  std::optional<double> created;
  std::optional<double> started;
  std::optional<double> ended;
  int attempt = 0;
  Json cause;  ///< as state.json has it; null
  std::string reason;
  std::optional<WorkDone> progress;
  std::optional<BestValue> best;
  std::vector<PhaseSpan> phases;
  std::vector<AttemptView> attempts;
  std::vector<DatasetView> datasets;
  std::vector<CheckpointView> checkpoints;
  std::optional<StepsView> steps;
  std::vector<CurveView> curves;
  std::vector<ObjectiveView> objectives;
  std::string scheduler;
  std::string sampler;
  std::vector<ParameterView> space;
  std::optional<TrialColumns> trials;
  std::vector<TrialSpan> trial_spans;  ///< of all attempts; for the accounting, not in the document
  std::vector<ImportanceView> importance;
  std::vector<ensemble::TrialNumber> pareto;
  Json selection;  ///< the model ensemble; null
  std::vector<FailureView> failures;
  std::vector<EventView> events;
  std::uint64_t events_left_out = 0;
  std::vector<MeasuredGpu> gpus;
  std::optional<Accounting> accounting;
  Json provenance;  ///< null
  std::string spec;
  Json resolved;  ///< the spec with its defaults, without secrets; null: unknown. For comparisons, not in the document
  std::vector<std::string> warnings;  ///< what could not be read
};

/// Of the run, without a schema.
Json ToJson(const RunView& run);
/// `slipway.view/1`; `made`: when they were read. Of several runs it has the fields in which their specs differ.
Json ViewDocument(const std::vector<RunView>& runs, double made);

}  // namespace slipway::launcher
