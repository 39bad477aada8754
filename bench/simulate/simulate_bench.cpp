// slipway bench simulate: the allreduces between nodes on machines larger than this one. The code of the algorithms is
// libslipway's own, compiled against SimGrid's MPI; network and arithmetic are models.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "bench/measure.h"
#include "bench/message_size.h"
#include "bench/run_main.h"
#include "bench/simulate/costs.h"
#include "bench/simulate/simulation.h"
#include "core/error.h"
#include "core/units.h"

namespace slipway::bench {
namespace {

struct Options {
  std::vector<std::string> networks = Networks();
  std::vector<int> ranks{64, 256};
  int ranks_per_node = 1;
  std::vector<std::string> sizes{"2.376MB", "28.15MB", "102MB"};
  std::vector<std::string> algorithms{"recursive_doubling", "rabenseifner", "torus"};
  int limit_s = 120;
  bool json = false;
};

runtime::Choice AlgorithmOf(const std::string& name) {
  const auto choice = runtime::ChoiceOf(name);
  const bool of_messages =
      choice && choice->algorithm != runtime::Algorithm::kShared && choice->algorithm != runtime::Algorithm::kMpi;
  if (of_messages) return *choice;
  throw CLI::ValidationError("--algorithms", "'" + name + "' is no algorithm of messages such as rabenseifner");
}

Machine MachineOf(const std::string& network, int nodes) {
  if (auto machine = MachineFor(network, nodes)) return *machine;
  throw CLI::ValidationError("--ranks", fmt::format("no {} has {} nodes", network, nodes));
}

/// Every combination, in the order of the table.
std::vector<Job> JobsOf(const Options& options) {
  std::vector<Job> jobs;
  for (const auto& network : options.networks) {
    for (const int ranks : options.ranks) {
      for (const auto& size : options.sizes) {
        for (const auto& algorithm : options.algorithms) {
          Job job{{}, ranks, options.ranks_per_node, MessageBytes(size, "28.15MB"), AlgorithmOf(algorithm)};
          job.machine = MachineOf(network, job.nodes());
          jobs.push_back(std::move(job));
        }
      }
    }
  }
  return jobs;
}

Json RowOf(const Job& job, const std::optional<Outcome>& outcome) {
  Json row{{"network", job.machine.network}, {"ranks", job.ranks}, {"ranks_per_node", job.ranks_per_node},
           {"nodes", job.nodes()},           {"bytes", job.bytes}, {"algorithm", NameOf(job.choice)},
           {"simulated_ms", nullptr}};
  if (!outcome) return row;
  row["simulated_ms"] = outcome->seconds * 1e3;
  row["steps"] = outcome->steps;
  row["messages"] = outcome->messages;
  row["bytes_sent"] = outcome->bytes_sent;
  row["processor_s"] = outcome->processor_seconds;
  row["memory_bytes"] = outcome->memory_bytes;
  return row;
}

constexpr auto kLine = "{:<10} {:>6} {:>6} {:>10} {:<32} {:>12} {:>7} {:>9} {:>10} {:>9} {:>9}\n";

void PrintHeader() {
  fmt::print(kLine, "network", "ranks", "nodes", "bytes", "algorithm", "simulated ms", "steps", "messages", "sent",
             "cpu", "memory");
}

void PrintRow(const Job& job, const std::optional<Outcome>& outcome, int limit_s) {
  const auto name = NameOf(job.choice);
  if (outcome) {
    fmt::print(kLine, job.machine.network, job.ranks, job.nodes(), job.bytes, name,
               fmt::format("{:.3f}", outcome->seconds * 1e3), outcome->steps, outcome->messages,
               FormatBytes({static_cast<std::uint64_t>(outcome->bytes_sent)}),
               FormatDuration(Seconds(outcome->processor_seconds)),
               FormatBytes({static_cast<std::uint64_t>(outcome->memory_bytes)}));
  } else {
    fmt::print("{:<10} {:>6} {:>6} {:>10} {:<32} not within {} s\n", job.machine.network, job.ranks, job.nodes(),
               job.bytes, name, limit_s);
  }
  std::fflush(stdout);
}

/// What the figures rest on.
Json Model(const Options& options) {
  Json machines = Json::array();
  for (const auto& job : JobsOf(options)) {
    Json machine{{"network", job.machine.network},
                 {"shape", job.machine.parameters},
                 {"nodes", job.machine.nodes},
                 {"link_bytes_per_s", job.machine.bandwidth},
                 {"link_latency_s", job.machine.latency}};
    if (std::find(machines.begin(), machines.end(), machine) == machines.end()) machines.push_back(machine);
  }
  return {{"simulator", "SimGrid"},
          {"settings", Settings()},
          {"combine_bytes_per_s", kCombineRate},
          {"node_memory_bytes_per_s", kNodeMemory},
          {"copy_bytes_per_s", kCopyRate},
          {"copy_latency_s", kCopyLatency},
          {"machines", machines}};
}

void Run(const Options& options) {
  const auto jobs = JobsOf(options);
  Json rows = Json::array();
  if (!options.json) PrintHeader();
  for (const auto& job : jobs) {
    const auto outcome = Simulate(job, std::chrono::seconds(options.limit_s));
    if (!options.json) PrintRow(job, outcome, options.limit_s);
    rows.push_back(RowOf(job, outcome));
  }
  if (!options.json) return;
  const Json document{{"schema", "slipway.bench.simulate/1"},
                      {"machine", DescribeMachine()},
                      {"model", Model(options)},
                      {"rows", rows}};
  fmt::print("{}\n", document.dump(2));
}

int Main(int argc, char** argv) {
  Options options;
  CLI::App app(
      "Simulates the gradient exchange between the nodes of large machines.\n\nExamples:\n"
      "  slipway bench simulate\n"
      "  slipway bench simulate --ranks 1024 --sizes 28.15MB --algorithms rabenseifner torus\n"
      "  slipway bench simulate --ranks 256 --ranks-per-node 4 --algorithms torus hierarchical_torus --json",
      "slipway bench simulate");
  app.option_defaults()->always_capture_default();
  app.add_option("--networks", options.networks, "dragonfly, fat_tree")->check(CLI::IsMember(Networks()));
  app.add_option("--ranks", options.ranks, "Ranks of the job")->check(CLI::Range(1, 32768));
  app.add_option("--ranks-per-node", options.ranks_per_node, "Ranks on each node")->check(CLI::Range(1, 256));
  app.add_option("--sizes", options.sizes, "Sizes of the messages, such as 28.15MB");
  app.add_option("--algorithms", options.algorithms, "Such as ring, torus, hierarchical_rabenseifner");
  app.add_option("--limit", options.limit_s, "Seconds until a simulation is given up")->check(CLI::Range(1, 86400));
  app.add_flag("--json", options.json, "One JSON document");
  CLI11_PARSE(app, argc, argv);
  Run(options);
  return 0;
}

}  // namespace
}  // namespace slipway::bench

int main(int argc, char** argv) { return slipway::bench::RunMain(slipway::bench::Main, argc, argv); }
