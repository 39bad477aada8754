#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "launcher/ranks/local/node_devices.h"
#include "launcher/spec/checks.h"
#include "launcher/spec/environment_references.h"
#include "launcher/spec/spec.h"
#include "runtime/selection/algorithm_table.h"

namespace slipway::launcher {
namespace {

bool SaysWhichGpus(const std::string& name) {
  return std::ranges::find(kDeviceVariables, name) != kDeviceVariables.end();
}

bool GivesGpus(const Draft& draft) { return draft.Has("launch.gpus_per_rank") && draft.At("launch.gpus_per_rank") > 0; }

void CheckVariables(Report& report, const Draft& draft) {
  const Json& variables = draft.At("launch.env");
  if (!variables.is_object()) return;
  for (const auto& [name, value] : variables.items()) {
    const Place place = draft.PlaceOf("launch.env." + name);
    if (auto why = WhyNotSettable(name); !why.empty()) report.Error(place, std::move(why));
    if (SaysWhichGpus(name) && GivesGpus(draft)) {
      report.Error(place,
                   name + " is set for each rank by launch.gpus_per_rank; set it outside, where slipway is called");
    }
  }
}

void CheckRankCount(Report& report, const Draft& draft) {
  if (!draft.Has("launch.nodes") || !draft.Has("launch.ranks_per_node")) return;
  const auto nodes = draft.At("launch.nodes").get<std::int64_t>();
  const auto per_node = draft.At("launch.ranks_per_node").get<std::int64_t>();
  if (nodes * per_node <= std::numeric_limits<int>::max()) return;
  report.Error(draft.PlaceOf("launch.ranks_per_node"), fmt::format("{} nodes with {} ranks each", nodes, per_node));
}

void CheckGradients(Report& report, const Draft& draft) {
  if (draft.failed.count("gradients.mode") + draft.failed.count("gradients.lag") > 0) return;
  const bool delayed = draft.At("gradients.mode") == "delayed";
  if (delayed && !draft.Has("gradients.lag")) {
    report.Error(draft.PlaceOf("gradients.mode"), "mode: delayed needs a lag, such as lag: 1");
  }
  if (!delayed && draft.Has("gradients.lag")) {
    report.Error(draft.PlaceOf("gradients.lag"), "a lag has no meaning with mode: sync; write mode: delayed");
  }
}

void CheckBucket(Report& report, const Draft& draft) {
  constexpr auto kMost = std::numeric_limits<int>::max();  // one message of MPI
  if (!draft.Has("gradients.bucket") || draft.At("gradients.bucket").get<std::uint64_t>() <= kMost) return;
  report.Error(draft.PlaceOf("gradients.bucket"), fmt::format("a bucket holds at most {} bytes", kMost));
}

void CheckAlgorithms(Report& report, const Draft& draft) {
  if (!draft.Has("gradients.algorithms")) return;
  try {
    runtime::AlgorithmTable::Default({}).With(draft.At("gradients.algorithms").get<std::string>());
  } catch (const Error& error) {
    const auto next_step = error.next_step().empty() ? "" : "; " + error.next_step();
    report.Error(draft.PlaceOf("gradients.algorithms"), error.message() + next_step);
  }
}

void CheckGpuExchange(Report& report, const Draft& draft) {
  if (draft.At("gradients.deterministic") != "canonical") return;
  const auto way = FromWord<GpuExchange>(draft.At("gradients.gpu_exchange").get<std::string>());
  if (!way || !AddsInOwnOrder(*way)) return;
  report.Error(draft.PlaceOf("gradients.gpu_exchange"),
               fmt::format("{} adds up in an order of its own, which is not canonical; write gpu_exchange: auto",
                           *way == GpuExchange::kNccl ? "NCCL" : "MPI"));
}

void CheckResilience(Report& report, const Draft& draft) {
  if (!draft.Has("resilience.min_nodes") || !draft.Has("launch.nodes")) return;
  const auto least = draft.At("resilience.min_nodes").get<std::int64_t>();
  const auto nodes = draft.At("launch.nodes").get<std::int64_t>();
  if (least <= nodes) return;
  report.Error(draft.PlaceOf("resilience.min_nodes"), fmt::format("more than 'launch.nodes', which is {}", nodes));
}

/// What says how many nodes a manager has.
std::string NodesField(const Draft& draft) {
  return TrialsAreJobs(draft) ? "ensemble.nodes_per_trial" : "launch.nodes";
}

/// The manager runs on the first node of its job: with that one it is lost, too.
void CheckSpareNodes(Report& report, const Draft& draft) {
  if (!draft.Has("resilience.spare_nodes") || draft.At("resilience.spare_nodes") == 0) return;
  const auto place = draft.PlaceOf("resilience.spare_nodes");
  if (draft.Has("ensemble") && !TrialsAreJobs(draft)) {
    return report.Error(place, "an ensemble goes on with the nodes that are left; ask for more with 'launch.nodes'");
  }
  const auto nodes = NodesField(draft);
  if (draft.Has(nodes) && draft.At(nodes) == 1) {
    report.Error(place, "a job on one node ends with it; with launch.slurm.requeue it then gets another one");
  }
}

bool ReadsInPlace(const Json& dataset) {
  const auto tier = dataset.value("tier", Json());
  return tier.is_array() && tier.size() == 1 && tier[0] == "none";
}

/// Each share lies on one node, and only while the run has that many.
void CheckShares(Report& report, const Draft& draft, const std::string& dataset) {
  const auto refuse = [&](const std::string& field, std::string_view why) {
    report.Error(draft.PlaceOf(field), fmt::format("{}.distribute: node-shard {}", dataset, why));
  };
  if (draft.Has("ensemble") && !TrialsAreJobs(draft)) {
    refuse(dataset + ".distribute",
           "is not for trials that share the nodes of a job: each may run on any of them; write shard, and every node "
           "holds all files, or placement: job");
  }
  if (draft.Has("resilience.spare_nodes") && draft.At("resilience.spare_nodes") != 0) {
    refuse("resilience.spare_nodes",
           "leaves nothing on a spare node that it could go on with; a run that loses a node with its share begins "
           "again from its checkpoint, by launch.slurm.requeue or `slipway resume`");
  }
}

/// What runs on several nodes cannot give yet.
void CheckDataOfSeveralNodes(Report& report, const Draft& draft) {
  const auto nodes = NodesField(draft);
  if (!draft.Has(nodes) || draft.At(nodes) == 1 || !draft.At("data").is_object()) return;
  for (const auto& [name, dataset] : draft.At("data").items()) {
    const auto path = "data." + name;
    if (dataset.value("overlap", Json()) == true && !ReadsInPlace(dataset)) {
      report.Error(
          draft.PlaceOf(path + ".overlap"),
          path +
              ".overlap is for runs on one node: on several the ranks start when every node has all data; leave "
              "it out, or write tier: none to read the files where they are");
    }
    if (dataset.value("distribute", Json()) == "node-shard") CheckShares(report, draft, path);
  }
}

}  // namespace

void CheckLaunch(Report& report, const Draft& draft) {
  CheckVariables(report, draft);
  CheckRankCount(report, draft);
  CheckGradients(report, draft);
  CheckBucket(report, draft);
  CheckAlgorithms(report, draft);
  CheckGpuExchange(report, draft);
  CheckResilience(report, draft);
  CheckSpareNodes(report, draft);
  CheckDataOfSeveralNodes(report, draft);
}

}  // namespace slipway::launcher
