/// A trial book with one trial in each state that a trial can be in, over a space with every kind of domain.
#pragma once

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "ensemble/store/trial_book.h"

namespace slipway::ensemble {

inline constexpr const char* kSampleSpace = R"({
  "lr": {"log": [1e-5, 1]}, "dropout": {"uniform": [0, 0.7], "step": 0.1}, "x": {"uniform": [-1, 1]},
  "layers": {"int": [1, 4]}, "width": {"int": [8, 70], "step": 8}, "units": {"int_log": [8, 1024]},
  "optimizer": {"choice": ["sgd", "adam", null, true, 3, 2.5]}, "size": {"ordinal": ["s", "m", "l"]},
  "epochs": 3, "momentum": {"uniform": [0, 0.99], "when": {"optimizer": "sgd"}}})";

inline StudyRecord SampleStudy() {
  StudyRecord study;
  study.objectives = {{"accuracy", Goal::kMaximize}};
  study.trials = 20;
  study.sampler = "random";
  study.spec_hash = "h";
  study.space = ToJson(ParseSpace(Json::parse(kSampleSpace))).dump();
  study.created = 999;
  return study;
}

inline Point SamplePoint(const Scalar& optimizer) {
  Point point = {{"lr", 0.01},
                 {"dropout", 0.3},
                 {"x", -0.5},
                 {"layers", std::int64_t{2}},
                 {"width", std::int64_t{64}},
                 {"units", std::int64_t{100}},
                 {"optimizer", optimizer},
                 {"size", std::string("m")},
                 {"epochs", std::int64_t{3}}};
  if (SameValue(optimizer, Scalar{std::string("sgd")})) point.emplace_back("momentum", 0.9);
  return point;
}

/// 0 and 1 complete (0.25 and 0.75, the second in its second attempt), 2 pruned, 3 failed, 4 cancelled, 5 paused,
/// 6 running, 7 queued.
class SampleBook {
 public:
  explicit SampleBook(const std::filesystem::path& folder) : book(TrialBook::OpenForWriting(folder)) {
    const auto space = ParseSpace(Json::parse(kSampleSpace));
    book.CreateStudy(SampleStudy(), space);
    const Scalar optimizers[] = {std::string("sgd"), std::string("adam"), std::monostate{}, true, std::int64_t{3}, 2.5,
                                 std::string("sgd"), std::string("adam")};
    Changes asked = At(1000);
    for (TrialNumber trial = 0; trial < 8; ++trial) {
      TrialRecord record;
      record.number = trial;
      record.parameters = SamplePoint(optimizers[trial]);
      record.configuration = ConfigurationHash(record.parameters);
      asked.trials.push_back(record);
      if (trial < 7) Start(asked, trial, 1);
    }
    book.Write(asked);
    constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    Report(0, 1, {0.1, 0.25});
    End(0, 1, TrialState::kComplete, TrialState::kComplete, 0.25, "");
    Report(1, 1, {0.5, 0.6, 0.7});
    End(1, 1, TrialState::kFailed, TrialState::kQueued, std::nullopt, "exit status 3");
    Changes again = At(1100);
    Start(again, 1, 2);
    book.Write(again);
    Report(1, 2, {0.55, 0.75});
    End(1, 2, TrialState::kComplete, TrialState::kComplete, 0.75, "");
    Report(2, 1, {kNan, 0.05});
    End(2, 1, TrialState::kPruned, TrialState::kPruned, 0.05, "worse than the median");
    Report(3, 1, {-kInfinity});
    End(3, 1, TrialState::kFailed, TrialState::kFailed, std::nullopt, "=HYPERLINK(\"http://x\"),\nrank 0: \"bad\"");
    End(4, 1, TrialState::kCancelled, TrialState::kCancelled, std::nullopt, "cancelled");
    Report(5, 1, {0.2});
    End(5, 1, TrialState::kPaused, TrialState::kPaused, std::nullopt, "paused at 1");
  }

  TrialBook book;

 private:
  static Changes At(double time) {
    Changes changes;
    changes.time = time;
    changes.host = "here";
    return changes;
  }
  static void Start(Changes& changes, TrialNumber trial, int attempt) {
    changes.claims.push_back({trial, attempt});
    changes.starts.push_back({trial, attempt, ProcessIdentity{1000 + trial, 1, "boot"}});
  }
  /// At steps 1, 2, ...; a second metric goes with each.
  void Report(TrialNumber trial, int attempt, const std::vector<double>& values) {
    Changes changes = At(1010);
    std::int64_t step = 0;
    for (const double value : values) {
      changes.metrics.push_back({trial, attempt, "accuracy", ++step, std::nullopt, value});
      changes.metrics.push_back({trial, attempt, "loss", step, std::nullopt, 1.5});
    }
    book.Write(changes);
  }
  void End(TrialNumber trial, int attempt, TrialState attempt_state, TrialState state, std::optional<double> objective,
           const std::string& reason) {
    Changes changes = At(1020.25);
    TrialRecord record;
    record.number = trial;
    record.state = state;
    record.objective = objective;
    record.reason = reason;
    record.ended = changes.time;
    changes.ends.push_back({attempt, attempt_state, Outcome::kNone, std::nullopt, reason, record});
    book.Write(changes);
  }
};

}  // namespace slipway::ensemble
