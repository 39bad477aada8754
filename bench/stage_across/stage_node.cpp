/// Stages a dataset on one node, alone or with a group, and prints what it cost. For `slipway bench stage-across`.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <string>

#include "core/error.h"
#include "core/json.h"
#include "staging/generation/discover_tiers.h"
#include "staging/network/stage_across.h"
#include "staging/plan/tiers.h"

namespace slipway::staging {
namespace {

struct Options {
  std::string source;
  std::string tier;
  std::string format = "raw";
  std::string nodes;
  std::string key;
  std::uint32_t node = 0;
  std::uint32_t readers = 0;
};

StagingPlan PlanOf(const Options& options) {
  DatasetRequest request;
  request.name = "bench";
  request.sources = {options.source};
  request.format = FromWord<DataFormat>(options.format).value_or(DataFormat::kRaw);
  request.tiers = {"dir:" + options.tier};
  return PlanStaging(request, ListSources(request), DiscoverTiers(request.tiers));
}

StagedAcross StageAlone(const StagingPlan& plan) {
  StagedAcross staged;
  staged.dataset = Stage(plan);
  staged.read = staged.dataset.copied;
  return staged;
}

StagedAcross StageInGroup(const StagingPlan& plan, const Options& options) {
  NodeGroup group{options.node, ReadNodesFile(options.nodes), options.key};
  group.readers = options.readers;
  return StageAcrossNodes(plan, {}, group);
}

void Print(const StagedAcross& staged) {
  const Json document = {{"seconds", staged.dataset.elapsed.count()},
                         {"adopted", staged.dataset.adopted},
                         {"directory", staged.dataset.directory.string()},
                         {"read", staged.read.count},
                         {"received", staged.received.count},
                         {"sent", staged.sent.count}};
  std::puts(document.dump().c_str());
}

int Main(int argc, char** argv) {
  Options options;
  CLI::App app("Stages a dataset on one node, alone or with a group.");
  app.add_option("source", options.source, "directory of the dataset")->required();
  app.add_option("tier", options.tier, "root of this node's tier")->required();
  app.add_option("--format", options.format, "tfrecord, hdf5 or raw");
  app.add_option("--nodes", options.nodes, "file with HOST:PORT lines; without it the node stages alone");
  app.add_option("--node", options.node, "this node's number, from 0");
  app.add_option("--key", options.key, "the group's key file");
  app.add_option("--readers", options.readers, "how many nodes read the source; 0: all");
  CLI11_PARSE(app, argc, argv);
  const auto plan = PlanOf(options);
  Print(options.nodes.empty() ? StageAlone(plan) : StageInGroup(plan, options));
  return 0;
}

}  // namespace
}  // namespace slipway::staging

int main(int argc, char** argv) {
  try {
    return slipway::staging::Main(argc, argv);
  } catch (const slipway::Error& error) {
    std::fprintf(stderr, "stage-node: %s\n", error.what());
    return error.exit_code();
  }
}
