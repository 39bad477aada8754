#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "bench/ensemble/noop_runner.h"
#include "bench/ensemble/optuna_store.h"
#include "bench/ensemble/parts.h"
#include "bench/measure.h"
#include "core/error.h"
#include "core/files.h"
#include "ensemble/study/open_study.h"

namespace slipway::bench {
namespace {

namespace fs = std::filesystem;
using ensemble::TrialBook;

constexpr int kReopenedTrials = 10'000;
constexpr double kGoalSeconds = 0.1;

void Fill(const fs::path& folder) {
  MakeDirectories(folder);
  auto book = TrialBook::OpenForWriting(folder);
  NoopRunner runner;
  NoObserver observer;
  const auto options = TenParameters(kReopenedTrials, 100);
  ensemble::RunEnsemble(book, options, runner, observer);
}

void CheckAll(std::size_t trials) {
  if (trials != kReopenedTrials)
    throw Error(ErrorKind::kFailed, fmt::format("{} of {} trials were read", trials, kReopenedTrials),
                "check the disk, and run the benchmark again");
}

double SecondsToRead(const fs::path& folder) {
  return SecondsOf([&] { CheckAll(TrialBook::OpenForReading(folder).Trials().size()); });
}

double SecondsToResume(const fs::path& folder) {
  const auto options = TenParameters(kReopenedTrials, 1);
  return SecondsOf([&] {
    auto book = TrialBook::OpenForWriting(folder);
    CheckAll(ensemble::OpenStudy(book, options, 0).trials().trials().size());
  });
}

}  // namespace

std::vector<Figure> MeasureReopen(const PartOptions& options) {
  const auto ours = options.folder / "ours", optuna = options.folder / "optuna.db";
  Fill(ours);
  const bool has_optuna = FillOptunaStore(optuna, kReopenedTrials);
  std::vector<double> read, resume, file, peer;
  for (int round = 0; round < options.rounds; ++round) {
    read.push_back(SecondsToRead(ours));
    resume.push_back(SecondsToResume(ours));
    file.push_back(SecondsOf([&] { ReadFile(ours / ensemble::kBookName); }));
    if (has_optuna) peer.push_back(AskOptunaStore({"reopen", optuna})->at("seconds").get<double>());
  }
  std::vector<Beside> beside = {{"reading the bytes of the book", Median(file)}};
  if (has_optuna) beside.push_back({"Optuna with SQLite", Median(peer)});
  const auto figure = [&](const char* what, const std::vector<double>& seconds) {
    const double median = Median(seconds);
    return Figure{"reopen", what, median, "s", beside, fmt::format("< {:g}", kGoalSeconds), median < kGoalSeconds};
  };
  return {figure("10,000 trials x 10 parameters, to read", read),
          figure("10,000 trials x 10 parameters, to go on", resume)};
}

}  // namespace slipway::bench
