/// The curves of reported metrics, thinned to a bounded number of points.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "ensemble/store/trial_book.h"
#include "launcher/ranks/monitor/line_follower.h"
#include "launcher/run_folder/run_folder.h"
#include "launcher/view/curve.h"
#include "launcher/view/run_view.h"

namespace slipway::launcher {

/// Curves of one single run or of the trials of an ensemble, by trial, name and attempt.
class CurveSet {
 public:
  /// `most_points` of a curve.
  explicit CurveSet(std::size_t most_points) : most_points_(most_points) {}

  /// A name of more than 200 different ones is left out.
  void Add(std::optional<ensemble::TrialNumber> trial, const std::string& name, int attempt, const CurvePoint& point);
  std::vector<CurveView> Views() const;
  bool left_out() const { return left_out_; }

 private:
  using Key = std::tuple<std::optional<ensemble::TrialNumber>, std::string, int>;
  std::size_t most_points_;
  std::map<Key, CurveThinner, std::less<>> curves_;
  std::set<std::string> names_;
  bool left_out_ = false;
};

/// Follows the metrics files of a single run as they grow.
class RunCurves {
 public:
  explicit RunCurves(const RunFolder& folder, BytesRead on_read = {});

  /// Reads what is new in the files of attempts 1 to `attempts`.
  void Poll(int attempts);
  const CurveSet& curves() const { return *curves_; }

 private:
  RunFolder folder_;
  std::shared_ptr<CurveSet> curves_;  ///< the callbacks of the followers hold it too
  BytesRead on_read_;
  std::vector<LineFollower> files_;
};

/// All curves of a trial book. The points of all curves together are at most about 60,000, but each curve has 8.
/// Cost: 1,000,000 values in about a second.
CurveSet ReadTrialCurves(ensemble::TrialBook& book, std::size_t trials);

}  // namespace slipway::launcher
