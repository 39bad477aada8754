// slipway bench schedulers: what asha, hyperband and others find on learning curves of real trainings, beside what no
// scheduler finds with as many epochs.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "bench/measure.h"
#include "bench/run_main.h"
#include "bench/schedulers/comparison.h"
#include "ensemble/schedulers/scheduler.h"

namespace slipway::bench {
namespace {

constexpr const char* kExamples =
    R"(regret: of the best complete trial, above the best of all configurations; median of the seeds.
none: without a scheduler, as many whole trials as the same epochs allow, rounded up.
all whole: without a scheduler, all the trials. cost: epochs spent, in whole trials. first: until one was complete.

Examples:
  slipway bench schedulers
  slipway bench schedulers --schedulers hyperband --trials 10,30 --seeds 200 --check
  slipway bench schedulers --curves mine.txt --json   # as record_curves.py writes them
)";

/// A scheduler worse than none at this level misses the goal.
constexpr double kWorse = 0.05;

struct Options {
  SchedulerPlan plan;
  std::filesystem::path curves = CurvesFile();
  bool check = false;
  bool json = false;
};

void Describe(CLI::App& app, Options& options) {
  app.footer(kExamples);
  app.option_defaults()->always_capture_default();
  app.add_option("--schedulers", options.plan.schedulers, "Schedulers to compare, with commas")
      ->delimiter(',')
      ->check(CLI::IsMember(ensemble::SchedulerNames()));
  app.add_option("--trials", options.plan.trials, "Budgets, with commas")->delimiter(',')->check(CLI::Range(1, 100000));
  app.add_option("--seeds", options.plan.seeds, "Random orders of the configurations")->check(CLI::Range(1, 100000));
  app.add_option("--parallel", options.plan.parallel, "Trials at a time")->check(CLI::Range(1, 10000));
  app.add_option("--reduction", options.plan.reduction, "Of the rungs")->check(CLI::Range(2, 100));
  app.add_option("--min", options.plan.min, "Epochs before the first decision")->check(CLI::Range(1, 100000));
  app.add_option("--curves", options.curves, "Recorded curves");
  app.add_flag("--check", options.check, "Exit status 1 when a scheduler is worse than none");
  app.add_flag("--json", options.json, "One JSON document");
}

void PrintDocument(const Options& options, const std::vector<SchedulerRow>& rows) {
  Json all = Json::array();
  for (const auto& row : rows) all.push_back(ToJson(row));
  const Json document{{"schema", "slipway.bench.schedulers/1"},
                      {"machine", DescribeMachine()},
                      {"seeds", options.plan.seeds},
                      {"parallel", options.plan.parallel},
                      {"reduction", options.plan.reduction},
                      {"min", options.plan.min},
                      {"rows", std::move(all)}};
  fmt::print("{}\n", document.dump(2));
}

int Main(int argc, char** argv) {
  CLI::App app("Compares schedulers with none on recorded learning curves, at equal numbers of epochs.",
               "slipway bench schedulers");
  Options options;
  Describe(app, options);
  CLI11_PARSE(app, argc, argv);
  const auto rows = CompareSchedulers(ReadCurves(options.curves), options.plan);
  options.json ? PrintDocument(options, rows) : PrintRows(rows);
  const bool worse = std::ranges::any_of(rows, [](const auto& row) { return row.p_worse < kWorse; });
  return options.check && worse ? 1 : 0;
}

}  // namespace
}  // namespace slipway::bench

int main(int argc, char** argv) { return slipway::bench::RunMain(slipway::bench::Main, argc, argv); }
