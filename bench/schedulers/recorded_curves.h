/// Learning curves of real trainings, recorded by record_curves.py.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace slipway::bench {

/// The value after each epoch; lower is better, NaN where the training diverged.
using RecordedCurve = std::vector<double>;

struct RecordedTask {
  std::string name;
  std::vector<RecordedCurve> curves;  ///< of random configurations; all of the same length
  /// The best value of a whole training.
  double Best() const;
};

/// The file that comes with the installation.
std::filesystem::path CurvesFile();

/// Errors: Error(kEnvironment) naming the line that is wrong, and for a file without curves.
std::vector<RecordedTask> ReadCurves(const std::filesystem::path& file);

}  // namespace slipway::bench
