/// Starts two ranks of libexec/slipway/doctor-ranks, to see whether the ranks of an MPI find each other.
#pragma once

#include <string>
#include <vector>

#include "core/process.h"
#include "core/units.h"
#include "launcher/ranks/local/mpi_launcher.h"

namespace slipway::launcher {

struct TwoRanks {
  Captured captured;
  Seconds took{};
};

/// The figures that rank 0 printed.
struct Measured {
  int ranks = 0;
  double small_s = 0;
  double bytes_per_s = 0;
};

/// A start that takes longer counts as a hang.
inline constexpr auto kStartLimit = std::chrono::seconds(20);

/// False when Slipway was built without MPI.
bool CanStartTwoRanks();
/// Whether there is a libslipway for it.
bool HasLibraryFor(Mpi mpi);

/// `starter`: the words before those of the program. The ranks have the libslipway for `mpi`.
TwoRanks StartTwoRanks(std::vector<std::string> starter, Mpi mpi);

/// The figures of all ranks, in any position among banners. Each of several lone ranks prints one line. Pure.
std::vector<Measured> MeasuredIn(const std::string& output);
/// Why the two ranks did not find each other; empty when they did. Pure.
std::string WhyNotTogether(const Captured& captured);

}  // namespace slipway::launcher
