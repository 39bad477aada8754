#include "launcher/view/run_view.h"

#include "core/json_fields.h"
#include "launcher/view/spec_rows.h"

namespace slipway::launcher {

template <class Visitor, MaybeConst<WorkDone> Struct>
void Visit(Visitor& visit, Struct& progress) {
  visit("done", progress.done);
  visit("total", progress.total);
  visit("unit", progress.unit);
  visit("left_s", progress.left_s);
}

template <class Visitor, MaybeConst<BestValue> Struct>
void Visit(Visitor& visit, Struct& best) {
  visit("metric", best.metric);
  visit("goal", best.goal);
  visit("value", best.value);
  visit("trial", best.trial);
  visit("step", best.step);
}

template <class Visitor, MaybeConst<PhaseSpan> Struct>
void Visit(Visitor& visit, Struct& span) {
  visit("phase", span.phase);
  visit("from", span.from);
  visit("to", span.to);
  visit("attempt", span.attempt);
}

template <class Visitor, MaybeConst<RankEndView> Struct>
void Visit(Visitor& visit, Struct& end) {
  visit("rank", end.rank);
  visit("exit_code", end.exit_code);
  visit("signal", end.signal);
}

template <class Visitor, MaybeConst<AttemptView> Struct>
void Visit(Visitor& visit, Struct& attempt) {
  visit("number", attempt.number);
  visit("started", attempt.started);
  visit("ended", attempt.ended);
  visit("reason", attempt.reason);
  visit("ranks", attempt.ranks);
}

template <class Visitor, MaybeConst<DatasetView> Struct>
void Visit(Visitor& visit, Struct& dataset) {
  visit("name", dataset.name);
  visit("tier", dataset.tier);
  visit("directory", dataset.directory);
  visit("from", dataset.from);
  visit("to", dataset.to);
  visit("bytes", dataset.bytes);
  visit("seconds", dataset.seconds);
  visit("found", dataset.found);
}

template <class Visitor, MaybeConst<CheckpointView> Struct>
void Visit(Visitor& visit, Struct& checkpoint) {
  visit("step", checkpoint.step);
  visit("bytes", checkpoint.bytes);
  visit("seconds", checkpoint.seconds);
  visit("time", checkpoint.time);
}

template <class Visitor, MaybeConst<RankSteps> Struct>
void Visit(Visitor& visit, Struct& rank) {
  visit("rank", rank.rank);
  visit("host", rank.host, Presence::kOptional);
  visit("step_s", rank.step_s);
  visit("compute_s", rank.compute_s);
  visit("wait_s", rank.wait_s);
  visit("exchange_s", rank.exchange_s);
  visit("input_s", rank.input_s);
}

template <class Visitor, MaybeConst<StepsView> Struct>
void Visit(Visitor& visit, Struct& steps) {
  visit("team", steps.team);
  visit("steps", steps.steps);
  visit("way", steps.way, Presence::kOptional);
  visit("without_direct", steps.without_direct, Presence::kOptional);
  visit("collectives", steps.collectives, Presence::kOptional);
  visit("gpu_allreduce", steps.gpu_allreduce, Presence::kOptional);
  visit("ranks", steps.ranks);
}

template <class Visitor, MaybeConst<CurveView> Struct>
void Visit(Visitor& visit, Struct& curve) {
  visit("metric", curve.metric);
  visit("trial", curve.trial);
  visit("attempt", curve.attempt);
  visit("count", curve.count);
  visit("not_finite", curve.not_finite);
  visit("lowest", curve.lowest);
  visit("highest", curve.highest);
  visit("step", curve.step);
  visit("value", curve.value);
  visit("time", curve.time);
}

template <class Visitor, MaybeConst<ObjectiveView> Struct>
void Visit(Visitor& visit, Struct& objective) {
  visit("metric", objective.metric);
  visit("name", objective.name);
  visit("goal", objective.goal);
}

template <class Visitor, MaybeConst<ParameterView> Struct>
void Visit(Visitor& visit, Struct& parameter) {
  visit("name", parameter.name);
  visit("kind", parameter.kind);
  visit("low", parameter.low);
  visit("high", parameter.high);
  visit("values", parameter.values);
}

template <class Visitor, MaybeConst<TrialColumns> Struct>
void Visit(Visitor& visit, Struct& trials) {
  visit("number", trials.number);
  visit("state", trials.state);
  visit("value", trials.value);
  visit("rank", trials.rank);
  visit("started", trials.started);
  visit("ended", trials.ended);
  visit("attempts", trials.attempts);
  visit("repeat", trials.repeat);
  visit("parent", trials.parent);
  visit("origin", trials.origin);
  visit("place", trials.place);
  visit("reason", trials.reason);
  visit("parameters", trials.parameters);
}

template <class Visitor, MaybeConst<ImportanceView> Struct>
void Visit(Visitor& visit, Struct& importance) {
  visit("parameter", importance.parameter);
  visit("share", importance.share);
  visit("low", importance.low);
  visit("high", importance.high);
}

template <class Visitor, MaybeConst<FailureView> Struct>
void Visit(Visitor& visit, Struct& failure) {
  visit("what", failure.what);
  visit("count", failure.count);
  visit("trials", failure.trials);
  visit("trial", failure.trial);
  visit("rank", failure.rank);
  visit("host", failure.host);
  visit("lines", failure.lines);
}

template <class Visitor, MaybeConst<EventView> Struct>
void Visit(Visitor& visit, Struct& event) {
  visit("time", event.time);
  visit("event", event.event);
  visit("text", event.text);
}

template <class Visitor, MaybeConst<AccountingPart> Struct>
void Visit(Visitor& visit, Struct& part) {
  visit("part", part.part);
  visit("node_seconds", part.node_seconds);
}

template <class Visitor, MaybeConst<Accounting> Struct>
void Visit(Visitor& visit, Struct& accounting) {
  visit("node_seconds", accounting.node_seconds);
  visit("queue_s", accounting.queue_s);
  visit("parts", accounting.parts);
  visit("node_hours", accounting.node_hours);
  visit("core_hours", accounting.core_hours);
  visit("gpu_hours", accounting.gpu_hours);
  visit("energy_j", accounting.energy.sum());
  visit("cpu_energy_j", accounting.energy.cpu_j);
  visit("gpu_energy_j", accounting.energy.gpu_j);
  visit("gpu_memory_peak_bytes", accounting.gpu_use.memory_peak_bytes);
  visit("gpu_utilisation", accounting.gpu_use.utilisation);
  visit("advice", accounting.advice);
}

template <class Visitor, MaybeConst<RunView> Struct>
void Visit(Visitor& visit, Struct& run) {
  visit("run", run.run);
  visit("folder", run.folder);
  visit("name", run.name);
  visit("kind", run.ensemble ? "ensemble" : "single");
  visit("engine", run.engine);
  visit("nodes", run.nodes);
  visit("ranks", run.ranks);
  visit("description", run.description);
  visit("tags", run.tags);
  visit("phase", PhaseName(run.phase));
  visit("created", run.created);
  visit("started", run.started);
  visit("ended", run.ended);
  visit("attempt", run.attempt);
  visit("cause", run.cause);
  visit("reason", run.reason);
  visit("progress", run.progress);
  visit("best", run.best);
  visit("phases", run.phases);
  visit("attempts", run.attempts);
  visit("datasets", run.datasets);
  visit("checkpoints", run.checkpoints);
  visit("steps", run.steps);
  visit("curves", run.curves);
  visit("objectives", run.objectives);
  visit("scheduler", run.scheduler);
  visit("sampler", run.sampler);
  visit("space", run.space);
  visit("trials", run.trials);
  visit("importance", run.importance);
  visit("pareto", run.pareto);
  visit("selection", run.selection);
  visit("failures", run.failures);
  visit("events", run.events);
  visit("events_left_out", run.events_left_out);
  visit("gpus", run.gpus);
  visit("accounting", run.accounting);
  visit("provenance", run.provenance);
  visit("spec", run.spec);
  visit("warnings", run.warnings);
}

Json ToJson(const RunView& run) { return WriteFields(run); }

Json ViewDocument(const std::vector<RunView>& runs, double made) {
  Json document{{"schema", "slipway.view/1"}, {"made", made}, {"runs", Json::array()}};
  std::vector<Json> specs;
  for (const auto& run : runs) {
    document["runs"].push_back(ToJson(run));
    specs.push_back(run.resolved);
  }
  document["spec_differences"] = Json::array();
  for (const auto& row : DifferingFields(specs)) document["spec_differences"].push_back(WriteFields(row));
  return document;
}

}  // namespace slipway::launcher
