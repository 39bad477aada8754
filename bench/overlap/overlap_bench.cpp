// slipway bench overlap: what a team's own thread costs the program that computes beside it.
//
// Each rank computes for some milliseconds, by arithmetic that stays in the first cache; the cases take turns in one
// run. "idle": a team is registered, and nothing is submitted. "waiting": this rank has submitted its gradients, and
// the others have not yet, so that its thread waits all the while. Medians over the rounds, of rank 0.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <array>
#include <chrono>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "bench/measure.h"
#include "bench/run_main.h"
#include "bench/start_ranks.h"
#include "core/json.h"
#include "runtime/slipway.h"

namespace slipway::bench {
namespace {

using Clock = std::chrono::steady_clock;

struct Options {
  int ranks = 2;
  int rounds = 41;
  int milliseconds = 50;
  bool json = false;
};

struct Case {
  const char* name;
  std::vector<double> seconds{};
};

constexpr const char* kTeam = "bench";

void Require(int status) {
  if (status != SLIPWAY_OK) throw std::runtime_error(slipway_error_message());
}

/// Arithmetic without memory: `passes` over 16 KiB.
double Compute(std::int64_t passes) {
  static std::array<float, 4096> values = [] {
    std::array<float, 4096> filled{};
    filled.fill(1.0f);
    return filled;
  }();
  const auto start = Clock::now();
  for (std::int64_t pass = 0; pass < passes; ++pass) {
    for (auto& value : values) value = value * 0.999f + 0.001f;
    asm volatile("" ::: "memory");
  }
  return std::chrono::duration<double>(Clock::now() - start).count();
}

/// So many that they take about `milliseconds`; the same on all ranks.
std::int64_t PassesFor(int milliseconds) {
  double passes = 1000 * milliseconds / (Compute(1000) * 1e3);
  Require(slipway_average(&passes, 1));
  return static_cast<std::int64_t>(passes);
}

/// 64 tensors of 64 KiB.
class Gradients {
 public:
  Gradients() : memory_(kTensors * kCount) {
    for (int i = 0; i < kTensors; ++i) names_.push_back("gradient " + std::to_string(i));
    for (int i = 0; i < kTensors; ++i) {
      tensors_.push_back({names_[static_cast<std::size_t>(i)].c_str(), SLIPWAY_FLOAT32, 1, &kShape,
                          memory_.data() + static_cast<std::size_t>(i) * kCount});
    }
  }
  void Register() { Require(slipway_register(kTeam, tensors_.data(), kTensors, 0)); }
  void Submit() {
    for (int i = 0; i < kTensors; ++i) Require(slipway_submit(kTeam, i));
  }

 private:
  static constexpr int kTensors = 64;
  static constexpr std::size_t kCount = 16384;
  static constexpr std::int64_t kShape = kCount;
  std::vector<float> memory_;
  std::vector<std::string> names_;
  std::vector<slipway_tensor> tensors_;
};

/// All ranks compute at the same time in each case, so that the cases differ in the threads alone.
std::vector<Case> Measure(const Options& options) {
  Gradients gradients;
  const auto passes = PassesFor(options.milliseconds);
  std::vector<Case> cases{{"alone"}, {"idle"}, {"waiting"}};
  for (int round = -2; round < options.rounds; ++round) {
    for (auto& each : cases) {
      const std::string name = each.name;
      if (name != "alone") gradients.Register();
      Require(slipway_barrier(SLIPWAY_ALL));
      if (name == "waiting" && slipway_rank() == 0) gradients.Submit();
      const double seconds = Compute(passes);
      if (round >= 0) each.seconds.push_back(seconds);
      if (name == "waiting" && slipway_rank() != 0) gradients.Submit();
      if (name == "waiting") Require(slipway_wait(kTeam));
      if (name != "alone") Require(slipway_unregister(kTeam));
    }
  }
  return cases;
}

Json RowsOf(const std::vector<Case>& cases) {
  const double alone = Median(cases.front().seconds);
  Json rows = Json::array();
  for (const auto& each : cases) {
    const double median = Median(each.seconds);
    rows.push_back({{"case", each.name}, {"median_ms", median * 1e3}, {"cost_percent", 100 * (median / alone - 1)}});
  }
  return rows;
}

void Print(const Options& options, const Json& rows) {
  if (options.json) {
    const Json document{{"schema", "slipway.bench.overlap/1"},
                        {"machine", DescribeMachine()},
                        {"ranks", slipway_size()},
                        {"rounds", options.rounds},
                        {"rows", rows}};
    fmt::print("{}\n", document.dump(2));
    return;
  }
  fmt::print("{} ranks; milliseconds of the same computation on rank 0, medians of {}\n", slipway_size(),
             options.rounds);
  for (const auto& row : rows) {
    fmt::print("{:<8} {:>9.3f} {:>+7.2f} %\n", row["case"].get<std::string>(), row["median_ms"].get<double>(),
               row["cost_percent"].get<double>());
  }
}

int Main(int argc, char** argv) {
  Options options;
  CLI::App app("Measures what the thread of a team costs a program that computes.", "slipway bench overlap");
  app.option_defaults()->always_capture_default();
  app.add_option("--ranks", options.ranks, "Ranks to start on this machine")->check(CLI::Range(2, 4096));
  app.add_option("--rounds", options.rounds, "Rounds of each case")->check(CLI::Range(1, 100000));
  app.add_option("--milliseconds", options.milliseconds, "Length of the computation")->check(CLI::Range(1, 100000));
  app.add_flag("--json", options.json, "One JSON document");
  CLI11_PARSE(app, argc, argv);
  StartRanks("bench overlap", options.ranks, argc, argv);
  Require(slipway_init("{}"));
  const auto rows = RowsOf(Measure(options));
  if (slipway_rank() == 0) Print(options, rows);
  Require(slipway_finalize());
  return 0;
}

}  // namespace
}  // namespace slipway::bench

int main(int argc, char** argv) { return slipway::bench::RunMain(slipway::bench::Main, argc, argv); }
