#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "bench/ensemble/disk_limits.h"
#include "bench/ensemble/noop_runner.h"
#include "bench/ensemble/optuna_store.h"
#include "bench/ensemble/parts.h"
#include "bench/measure.h"
#include "core/error.h"
#include "core/files.h"

namespace slipway::bench {
namespace {

constexpr int kToldTrials = 2000;
constexpr int kOptunaTrials = 60;
constexpr double kThroughputGoal = 1000;
/// Before an attempt is let go two commits are durable: its claim, and its process. The result of the last attempt
/// joins the claim of the next.
constexpr double kCommitsOfATrial = 2;

double TrialRate(const std::filesystem::path& folder, int parallel) {
  MakeDirectories(folder);
  const auto options = TenParameters(kToldTrials, parallel);
  NoopRunner runner;
  NoObserver observer;
  int complete = 0;
  const double seconds = SecondsOf([&] {
    auto book = ensemble::TrialBook::OpenForWriting(folder);
    complete = ensemble::RunEnsemble(book, options, runner, observer).complete;
  });
  if (complete != kToldTrials)
    throw Error(ErrorKind::kFailed, fmt::format("{} of {} trials complete", complete, kToldTrials),
                "check the disk, and run the benchmark again");
  return kToldTrials / seconds;
}

struct Sides {
  std::vector<double> alone, eight, sqlite, sync, optuna;
};

Sides MeasureSides(const PartOptions& options) {
  Sides sides;
  for (int round = 0; round < options.rounds; ++round) {
    const auto folder = options.folder / std::to_string(round);
    sides.alone.push_back(TrialRate(folder / "alone", 1));
    sides.eight.push_back(TrialRate(folder / "eight", 8));
    sides.sqlite.push_back(SqliteCommitRate(folder, kToldTrials) / kCommitsOfATrial);
    sides.sync.push_back(SyncRate(folder, kToldTrials) / kCommitsOfATrial);
    const auto optuna = AskOptunaStore({"throughput", std::to_string(kOptunaTrials), folder / "optuna.db"});
    if (optuna) sides.optuna.push_back(kOptunaTrials / optuna->at("seconds").get<double>());
  }
  return sides;
}

}  // namespace

std::vector<Figure> MeasureThroughput(const PartOptions& options) {
  const auto sides = MeasureSides(options);
  std::vector<Beside> beside = {{"bare SQLite, two commits a trial", Median(sides.sqlite)},
                                {"bare pwrite + fdatasync, two a trial", Median(sides.sync)}};
  if (!sides.optuna.empty()) beside.push_back({"Optuna with SQLite", Median(sides.optuna)});
  const auto figure = [&](const char* what, const std::vector<double>& rates) {
    const double rate = Median(rates);
    return Figure{"throughput",           what, rate, "trials/s", beside, fmt::format(">= {:g}", kThroughputGoal),
                  rate >= kThroughputGoal};
  };
  return {figure("durable trials, one at a time", sides.alone), figure("durable trials, eight at a time", sides.eight)};
}

}  // namespace slipway::bench
