#include "bench/schedulers/recorded_curves.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <optional>
#include <sstream>

#include "core/error.h"
#include "core/files.h"
#include "core/install.h"

namespace slipway::bench {
namespace {

[[noreturn]] void RefuseLine(const std::filesystem::path& file, int line, const std::string& reason) {
  throw Error(ErrorKind::kEnvironment, fmt::format("'{}', line {}: {}", file.string(), line, reason),
              "write it again with record_curves.py");
}

/// Nothing: some word is no number.
std::optional<RecordedCurve> CurveFrom(const std::string& line) {
  RecordedCurve curve;
  std::istringstream words(line);
  for (std::string word; words >> word;) {
    char* end = nullptr;
    curve.push_back(std::strtod(word.c_str(), &end));
    if (*end != '\0') return std::nullopt;
  }
  return curve;
}

}  // namespace

double RecordedTask::Best() const {
  double best = std::numeric_limits<double>::infinity();
  for (const auto& curve : curves) {
    if (std::isfinite(curve.back())) best = std::min(best, curve.back());
  }
  return best;
}

std::filesystem::path CurvesFile() { return HelperProgram("bench-support/schedulers/curves.txt"); }

std::vector<RecordedTask> ReadCurves(const std::filesystem::path& file) {
  std::istringstream text(ReadFile(file));
  std::vector<RecordedTask> tasks;
  std::size_t epochs = 0;
  int number = 0;
  for (std::string line; std::getline(text, line);) {
    ++number;
    if (line.starts_with("task ")) {
      std::istringstream words(line.substr(5));
      if (!(words >> tasks.emplace_back().name >> epochs)) RefuseLine(file, number, "a task has a name and epochs");
      continue;
    }
    auto curve = CurveFrom(line);
    const bool fits = curve && !tasks.empty() && epochs > 0 && curve->size() == epochs;
    if (!fits) RefuseLine(file, number, fmt::format("not the {} values of a curve", epochs));
    tasks.back().curves.push_back(std::move(*curve));
  }
  if (tasks.empty()) RefuseLine(file, number, "no task");
  return tasks;
}

}  // namespace slipway::bench
