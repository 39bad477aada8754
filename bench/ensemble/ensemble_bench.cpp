// slipway bench ensemble: how fast, how small and how safe the book-keeping of ensembles is, beside bare SQLite, bare
// posix_spawn and Optuna.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <nlohmann/json.hpp>

#include "bench/bench_folder.h"
#include "bench/ensemble/parts.h"
#include "bench/measure.h"
#include "bench/run_main.h"
#include "core/files.h"

namespace slipway::bench {
namespace {

constexpr const char* kExamples = R"(Parts:
  memory      resident memory of the manager, 10,000 trials x 100 reports
  throughput  durable trials a second with an objective that costs nothing
  spawn       trials a second with real processes, through slipway run
  reopen      seconds until a book of 10,000 trials is open
  ask         time of an ask of each sampler
  kills       what is lost when the manager is killed (a round is a kill; 300 when no number is given)

Examples:
  slipway bench ensemble
  slipway bench ensemble --part throughput,spawn --rounds 9
  slipway bench ensemble --part kills --rounds 300 --seed 7 --json
)";

struct Part {
  const char* name;
  std::vector<Figure> (*measure)(const PartOptions&);
  int rounds;
};

/// In the order in which they are measured.
constexpr Part kParts[] = {{"memory", MeasureMemory, 1}, {"throughput", MeasureThroughput, 5},
                           {"spawn", MeasureSpawn, 5},   {"reopen", MeasureReopen, 5},
                           {"ask", MeasureAsk, 1},       {"kills", MeasureKills, 300}};

struct Options {
  std::vector<std::string> parts;
  int rounds = 0;
  std::uint64_t seed = 1;
  bool json = false;
  bool check = false;
};

void Describe(CLI::App& app, Options& options) {
  std::vector<std::string> names;
  for (const auto& part : kParts) names.emplace_back(part.name);
  app.footer(kExamples);
  app.add_option("--part", options.parts, "What to measure, with commas; all when none is named")
      ->delimiter(',')
      ->check(CLI::IsMember(names));
  app.add_option("--rounds", options.rounds, "How often all sides take their turn, or the number of kills")
      ->check(CLI::Range(1, 100000));
  app.add_option("--seed", options.seed, "Of the times of the kills")->capture_default_str();
  app.add_flag("--check", options.check, "Exit status 1 when a goal is missed");
  app.add_flag("--json", options.json, "One JSON document");
}

bool IsWanted(const Part& part, const Options& options) {
  return options.parts.empty() || std::ranges::find(options.parts, part.name) != options.parts.end();
}

std::vector<Figure> Measure(const Part& part, const Options& options, const BenchFolder& folder) {
  PartOptions own{folder.path() / part.name, options.rounds > 0 ? options.rounds : part.rounds, options.seed};
  MakeDirectories(own.folder);
  return part.measure(own);
}

Json ToJson(const Figure& figure) {
  Json beside = Json::array();
  for (const auto& [what, value, is_opponent] : figure.beside) {
    beside.push_back({{"what", what}, {"value", value}});
    if (is_opponent) beside.back()["ratio"] = figure.value / value;
  }
  Json document{{"part", figure.part},
                {"what", figure.what},
                {"value", figure.value},
                {"unit", figure.unit},
                {"beside", std::move(beside)}};
  if (!figure.goal.empty()) {
    document["goal"] = figure.goal;
    document["reached"] = figure.reached;
  }
  return document;
}

/// One line of the figure, one for each of what stands beside it, with the ratio to limits and peers.
void Print(const Figure& figure) {
  fmt::print("{:<50}{:>10.4g} {:<9}", figure.what, figure.value, figure.unit);
  if (!figure.goal.empty()) fmt::print(" goal {}: {}", figure.goal, figure.reached ? "reached" : "missed");
  fmt::print("\n");
  for (const auto& [what, value, is_opponent] : figure.beside) {
    fmt::print("  {:<48}{:>10.4g} {:<9}", what, value, figure.unit);
    if (is_opponent) fmt::print(" ratio {:.3g}", figure.value / value);
    fmt::print("\n");
  }
}

int Main(int argc, char** argv) {
  CLI::App app("Measures the book-keeping of ensembles: speed, memory, and what kill -9 costs.",
               "slipway bench ensemble");
  Options options;
  Describe(app, options);
  CLI11_PARSE(app, argc, argv);
  const BenchFolder folder;
  Json figures = Json::array();
  bool reached = true;
  for (const auto& part : kParts) {
    if (!IsWanted(part, options)) continue;
    for (const auto& figure : Measure(part, options, folder)) {
      if (!options.json) Print(figure);
      figures.push_back(ToJson(figure));
      reached = reached && figure.reached;
    }
    std::fflush(stdout);
  }
  if (options.json) {
    const Json document{{"schema", "slipway.bench.ensemble/1"},
                        {"machine", DescribeMachine()},
                        {"seed", options.seed},
                        {"figures", figures},
                        {"reached", reached}};
    fmt::print("{}\n", document.dump(2));
  }
  return options.check && !reached ? 1 : 0;
}

}  // namespace
}  // namespace slipway::bench

int main(int argc, char** argv) { return slipway::bench::RunMain(slipway::bench::Main, argc, argv); }
