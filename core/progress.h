/// Progress of long work: how far, how fast, how long still.
#pragma once

#include <string>
#include <string_view>

#include "core/clock.h"
#include "core/output.h"
#include "core/units.h"

namespace slipway {

/// A progress line with rate and time left, e.g. "staging train  41%  12.6 / 30.9 MB  1.2 GB/s  0.1 s left".
/// Updates are cheap: it draws at most ten times a second.
class Progress {
 public:
  Progress(Output& output, std::string label, Bytes total, Clock& clock = SystemClock());
  ~Progress();
  void Update(Bytes done, std::string_view current = {});

 private:
  Output& output_;
  Clock& clock_;
  std::string label_;
  Bytes total_;
  SteadyTime started_;
  SteadyTime drawn_;
};

/// The text of a progress line (pure; for tests).
std::string ProgressText(std::string_view label, Bytes done, Bytes total, Seconds elapsed, std::string_view current);

}  // namespace slipway
