// slipway bench samplers: simple regret of Slipway's samplers beside Optuna's, on functions with known minima, at equal
// numbers of evaluations.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <csignal>
#include <nlohmann/json.hpp>

#include "bench/measure.h"
#include "bench/run_main.h"
#include "bench/samplers/comparison.h"
#include "bench/samplers/optuna_peer.h"
#include "core/error.h"

namespace slipway::bench {
namespace {

constexpr const char* kExamples =
    R"(Functions: the ten that goals are set on ('goal', the default), others that nobody tunes to ('other'), those with
noise ('noisy'), all of them ('all'), or names.
Peers: optuna-tpe, optuna-tpe-multivariate, optuna-cmaes, optuna-qmc, optuna-random ('all', the default, or 'none').

A sampler may say how many trials it keeps open: auto,auto@8 compares one at a time with eight.

Examples:
  slipway bench samplers --samplers tpe --functions mixcond,tree --seeds 5
  slipway bench samplers --samplers auto,gp --peers ~/optuna.json --jobs 8
  slipway bench samplers --samplers auto --functions other --parallel 8 --against none --json
  slipway bench samplers --samplers auto,auto@8 --evaluations 400 --against none
)";

struct Options {
  CampaignPlan plan;
  std::vector<std::string> functions = {"goal"};
  std::vector<std::string> samplers = {"auto"};
  std::vector<std::string> against = {"all"};
  std::string peers;
  bool json = false;
};

void Describe(CLI::App& app, Options& options) {
  app.footer(kExamples);
  app.option_defaults()->always_capture_default();
  app.add_option("--samplers", options.samplers, "Samplers of Slipway to compare, with commas; name@N: N open trials")
      ->delimiter(',');
  app.add_option("--functions", options.functions, "goal, other, noisy, all, or names with commas")->delimiter(',');
  app.add_option("--against", options.against, "Samplers of the peer, with commas, all or none")->delimiter(',');
  app.add_option("--seeds", options.plan.seeds, "Searches of each sampler on each function")
      ->check(CLI::Range(1, 10000));
  app.add_option("--first-seed", options.plan.first_seed, "Of our searches: choose with some seeds, report with others")
      ->check(CLI::Range(0, 1000000));
  app.add_option("--evaluations", options.plan.evaluations, "Length of a search")->check(CLI::Range(1, 100000));
  app.add_option("--parallel", options.plan.parallel, "Trials that are asked and not yet told")
      ->check(CLI::Range(1, 10000));
  app.add_option("--jobs", options.plan.jobs, "Searches at a time")->check(CLI::Range(1, 1024));
  app.add_option("--peers", options.peers, "File that keeps what the peer's samplers gave: they cost minutes");
  app.add_flag("--json", options.json, "One JSON document");
}

/// Names, with the words of lists replaced by what they stand for; each once.
std::vector<std::string> FunctionNames(const std::vector<std::string>& words) {
  std::vector<std::string> names;
  const auto add = [&](const std::string& name) {
    if (std::ranges::find(names, name) == names.end()) names.push_back(name);
  };
  for (const auto& word : words) {
    const bool goal = word == "goal" || word == "all";
    const bool other = word == "other" || word == "all";
    const bool noisy = word == "noisy";
    if (!goal && !other && !noisy) add(word);
    for (const auto& function : GoalFunctions()) {
      if (goal) add(function.name);
    }
    for (const auto& function : OtherFunctions()) {
      if (other || (noisy && function.noise > 0)) add(function.name);
    }
  }
  return names;
}

std::vector<std::string> PeersFor(const std::vector<std::string>& words) {
  if (words == std::vector<std::string>{"none"}) return {};
  if (words == std::vector<std::string>{"all"}) return PeerNames();
  for (const auto& word : words) {
    if (std::ranges::find(PeerNames(), word) == PeerNames().end()) {
      throw CLI::ValidationError("--against", "there is no peer '" + word + "'");
    }
  }
  return words;
}

/// Results of a peer that is not installed may still lie in the file.
PeerCache OpenCache(const Options& options, bool wanted) {
  const auto peer = wanted ? OptunaPeer::Start() : std::nullopt;
  PeerCache cache(options.peers, peer ? peer->version() : "");
  if (wanted && !peer) fmt::print(stderr, "Optuna is not installed (python3-optuna): the peer is left out\n");
  return cache;
}

/// Unknown names are wrong options.
CampaignResults Results(const CampaignPlan& plan, PeerCache& cache) try {
  return RunCampaign(plan, cache);
} catch (const Error& error) {
  if (error.kind() != ErrorKind::kUsage) throw;
  throw CLI::ValidationError(error.message());
}

int Main(int argc, char** argv) {
  CLI::App app("Compares samplers on functions with known minima: simple regret at equal numbers of evaluations.",
               "slipway bench samplers");
  Options options;
  Describe(app, options);
  CLI11_PARSE(app, argc, argv);
  std::signal(SIGPIPE, SIG_IGN);
  const auto peers = PeersFor(options.against);
  auto cache = OpenCache(options, !peers.empty());
  options.plan.functions = FunctionNames(options.functions);
  options.plan.samplers = options.samplers;
  if (!cache.version().empty()) options.plan.samplers.insert(options.plan.samplers.end(), peers.begin(), peers.end());
  const auto comparison = Compare(options.plan, Results(options.plan, cache));
  const auto summary = Summary(comparison);
  const auto costs = CostOfOpenTrials(comparison);
  if (options.json) {
    const Json document{{"schema", "slipway.bench.samplers/1"},
                        {"machine", DescribeMachine()},
                        {"optuna", cache.version().empty() ? Json(nullptr) : Json(cache.version())},
                        {"seeds", options.plan.seeds},
                        {"first_seed", options.plan.first_seed},
                        {"evaluations", options.plan.evaluations},
                        {"parallel", options.plan.parallel},
                        {"functions", comparison},
                        {"summary", summary},
                        {"open_trials", costs}};
    fmt::print("{}\n", document.dump(2));
    return 0;
  }
  fmt::print("simple regret: median [quartiles] of {} seeds; {} at a time\n", options.plan.seeds,
             options.plan.parallel);
  PrintComparison(comparison);
  PrintSummary(summary);
  PrintCostOfOpenTrials(costs);
  return 0;
}

}  // namespace
}  // namespace slipway::bench

int main(int argc, char** argv) { return slipway::bench::RunMain(slipway::bench::Main, argc, argv); }
