/// Runs for the tests of the screen, made by hand.
#pragma once

#include <string>
#include <utility>

#include "launcher/watch/model.h"
#include "launcher/watch/read_ensemble.h"

namespace slipway::launcher::watch {

inline constexpr double kNow = 1'795'363'200;

inline void AddTrial(RunView& run, const std::string& state, std::optional<double> value, const std::string& place,
                     std::optional<int> rank = {}) {
  auto& trials = *run.trials;
  const auto number = static_cast<ensemble::TrialNumber>(trials.number.size());
  trials.number.push_back(number);
  trials.state.push_back(state);
  trials.value[0].push_back(value);
  trials.rank.push_back(rank);
  trials.started.push_back(kNow - 100 + static_cast<double>(number));
  trials.ended.push_back(state == "running" ? std::nullopt : std::optional(kNow - 50 + static_cast<double>(number)));
  trials.attempts.push_back(1);
  trials.repeat.push_back(0);
  trials.parent.push_back({});
  trials.origin.push_back("random");
  trials.place.push_back(place);
  trials.reason.push_back(state == "failed" ? "exit status 3" : "");
  trials.parameters[0].second.push_back(0.25 * static_cast<double>(number + 1));
  trials.parameters[1].second.push_back(number % 2 == 0 ? "adam" : "sgd");
}

inline RunView SmallEnsemble() {
  RunView run;
  run.run = "search-1";
  run.folder = "/runs/search-1";
  run.ensemble = true;
  run.phase = Phase::kRunning;
  run.started = kNow - 120;
  run.attempt = 1;
  run.objectives = {{"loss", "loss", ensemble::Goal::kMinimize}};
  run.trials.emplace();
  run.trials->value.resize(1);
  run.trials->parameters = {{"lr", {}}, {"opt", {}}};
  AddTrial(run, "complete", 0.5, "n1:0", 2);
  AddTrial(run, "failed", {}, "n1:1");
  AddTrial(run, "complete", 0.125, "n2:0", 1);
  AddTrial(run, "running", {}, "n2:1");
  AddTrial(run, "running", {}, "n1:1");
  run.best = BestValue{"loss", ensemble::Goal::kMinimize, 0.125, 2, {}};
  run.progress = WorkDone{3, 10.0, "trials", 90.0};
  return run;
}

inline RunView SmallSingle() {
  RunView run;
  run.run = "train-1";
  run.folder = "/runs/train-1";
  run.phase = Phase::kRunning;
  run.started = kNow - 120;
  run.attempt = 1;
  run.ranks = 2;
  run.phases = {
      {"queued", kNow - 150, kNow - 130, 1}, {"staging", kNow - 130, kNow - 120, 1}, {"running", kNow - 120, {}, 1}};
  run.datasets = {{"train", "ram", "/dev/shm/x", kNow - 130, kNow - 120, 12'000'000, 10, false}};
  run.checkpoints = {{40, 2'000'000, 0.5, kNow - 20}};
  CurveView curve{"loss", {}, 1, 5, 0, 0.1, 1.0, {10, 20, 30, 40, 50}, {1.0, 0.5, 0.25, 0.15, 0.1}, {}};
  for (int i = 0; i < 5; ++i) curve.time.push_back(kNow - 50 + 10 * i);
  run.curves = {curve};
  run.progress = WorkDone{50, {}, "steps", {}};
  run.events = {{kNow - 150, "queued", "job 17"}, {kNow - 120, "running", "attempt 1"}};
  return run;
}

inline std::shared_ptr<WatchData> DataOf(RunView run) {
  auto data = std::make_shared<WatchData>();
  data->read_at = kNow;
  data->selector = "other/" + run.run;
  data->run = std::make_shared<RunView>(std::move(run));
  if (data->run->ensemble) Summarize(*data);
  if (!data->run->ensemble) data->ranks.resize(2);
  for (std::size_t rank = 0; rank < data->ranks.size(); ++rank) {
    data->ranks[rank].rank = static_cast<int>(rank);
    data->ranks[rank].state = "running";
    data->ranks[rank].last_output = kNow - 3;
  }
  return data;
}

inline Model ModelOf(RunView run) {
  Model model;
  model.now = kNow;
  model.run = run.folder;
  return WithData(std::move(model), DataOf(std::move(run)));
}

/// Of `watch all`, with two runs.
inline Model ListModel() {
  Model model;
  model.now = kNow;
  model.has_list = true;
  model.page = Page::kRuns;
  auto data = std::make_shared<WatchData>();
  data->runs = {{"train-1", "/runs/train-1", "running", false, false, 1, kNow - 120, {}, ""},
                {"old-1", "/runs/old-1", "failed", true, false, 1, kNow - 9000, kNow - 8000, "rank 1 failed"}};
  return WithData(std::move(model), std::move(data));
}

/// A workflow with a step in each of some states; the search is a run.
inline Model WorkflowModel() {
  Model model;
  model.now = kNow;
  model.workflow = "/runs/flow-1";
  model.page = Page::kSteps;
  auto glance = std::make_shared<WorkflowGlance>();
  glance->id = "flow-1";
  glance->folder = model.workflow;
  glance->selector = "other/flow-1";
  glance->phase = Phase::kRunning;
  glance->started = kNow - 300;
  glance->counts = "1 done, 1 failed, 1 running, 1 waiting of 4 steps";
  glance->steps = {{"make", "data", "done", 7, {}, 12.5, "", {}},
                   {"search", "ensemble", "running", 0, kNow - 90, {}, "file train.py has changed", "/runs/search-1"},
                   {"check", "command", "failed", 1, {}, 1.0, "exit status 3", {}},
                   {"last", "command", "waiting", 3, {}, {}, "", {}}};
  auto data = std::make_shared<WatchData>();
  data->workflow = std::move(glance);
  return WithData(std::move(model), std::move(data));
}

inline Model Press(Model model, std::string_view keys) {
  for (const char c : keys) model = Update(std::move(model), Key{KeyCode::kCharacter, static_cast<char32_t>(c)});
  return model;
}
inline Model Press(Model model, KeyCode code) { return Update(std::move(model), Key{code, 0}); }

}  // namespace slipway::launcher::watch
