/// A small random program for `sh`, and what is true of it.
#pragma once

#include <cstdint>
#include <optional>
#include <random>
#include <string>

namespace slipway::test {

/// How a trial that runs the program ends, on any disk that has room in the end.
struct TrueEnd {
  std::string state;    ///< "complete", "failed"
  std::string outcome;  ///< of its last attempt, as the trial book has it
  int exit_code = 0;
  int signal = 0;
  std::optional<double> objective;  ///< of complete ones
};

struct RandomProgram {
  std::string text;
  TrueEnd end;
};

/// The program writes files into $SLIPWAY_OUTPUT_DIR, forks children that end before or after it, prints noise or
/// nothing, reports the metric `objective` by lines such as "FoM: 3.5", or tries to, and ends by itself or by a signal.
/// A write that fails is either noticed (exit status 9) or not. The same `random` gives the same program.
RandomProgram MakeRandomProgram(std::mt19937_64& random);

}  // namespace slipway::test
