/// What all benchmarks share.
#pragma once

#include <filesystem>
#include <utility>
#include <vector>

#include "core/clock.h"
#include "core/json.h"
#include "core/units.h"

namespace slipway::bench {

/// The middle value; 0 of none.
double Median(std::vector<double> values);

/// {"host", "cores", "processor"}: what figures are worth nothing without.
Json DescribeMachine();

/// A folder for a benchmark, removed at its end.
class BenchFolder {
 public:
  /// In TMPDIR, else in /var/tmp: /tmp may live in memory, where being durable costs nothing.
  BenchFolder();
  BenchFolder(const BenchFolder&) = delete;
  BenchFolder& operator=(const BenchFolder&) = delete;
  ~BenchFolder();

  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

/// What `body` returns; with a message on stderr 2 for options that are wrong, and 3 for what went wrong else.
int RunMain(int (*body)(int, char**), int argc, char** argv);

/// How long it takes.
template <class Action>
double SecondsOf(Action&& action) {
  const auto begun = SystemClock().Steady();
  std::forward<Action>(action)();
  return Seconds(SystemClock().Steady() - begun).count();
}

}  // namespace slipway::bench
