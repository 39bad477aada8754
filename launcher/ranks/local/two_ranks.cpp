#include "launcher/ranks/local/two_ranks.h"

#include <fmt/format.h>
#include <unistd.h>

#include "core/clock.h"
#include "core/files.h"
#include "core/install.h"
#include "core/lines.h"
#include "core/text.h"
#include "launcher/ranks/local/ranks.h"

namespace slipway::launcher {
namespace {

constexpr int kRanks = 2;

std::string Helper() { return HelperProgram("doctor-ranks").string(); }

/// As the ranks of a run have it, and nothing of a job that this process is part of.
Environment EnvironmentFor(Mpi mpi) {
  auto environment = Environment::Inherited();
  LeaveMpiJob(environment);
  const auto libraries = LibrariesFor(mpi);
  if (libraries.empty()) return environment;
  const auto inherited = environment.Get("LD_LIBRARY_PATH").value_or("");
  environment.Set("LD_LIBRARY_PATH", libraries.string() + (inherited.empty() ? "" : ":" + inherited));
  return environment;
}

/// The last line of the program itself, whose functions begin with their names; else the last line that is not empty.
std::string TellingLineOf(const std::string& text) {
  std::string own, last;
  for (const auto& line : LinesOf(text)) {
    if (line.find_first_not_of(" \t\r-") != std::string::npos) last = line;
    if (line.starts_with("slipway_")) own = line;
  }
  return own.empty() ? last : own;
}

}  // namespace

bool CanStartTwoRanks() { return ::access(Helper().c_str(), X_OK) == 0; }

bool HasLibraryFor(Mpi mpi) { return Exists(LibraryDirectory() / "slipway" / WordOf(mpi) / "libslipway.so"); }

TwoRanks StartTwoRanks(std::vector<std::string> starter, Mpi mpi) {
  SpawnOptions options;
  options.argv = std::move(starter);
  options.argv.push_back(Helper());
  options.environment = EnvironmentFor(mpi);
  const auto began = SystemClock().Steady();
  auto captured = RunAndCapture(std::move(options), kStartLimit);
  return {std::move(captured), SystemClock().Steady() - began};
}

std::vector<Measured> MeasuredIn(const std::string& output) {
  std::vector<Measured> all;
  for (const auto& line : LinesOf(output)) {
    const auto begin = line.find("doctor-ranks ");  // starters print in front of it
    if (begin == std::string::npos) continue;
    LineWords words(std::string_view(line).substr(begin));
    words.Word();
    const Measured measured{words.Take<int>(), words.Take<double>(), words.Take<double>()};
    if (words.AtEnd()) all.push_back(measured);
  }
  return all;
}

std::string WhyNotTogether(const Captured& captured) {
  const auto said = TellingLineOf(captured.errors);
  const auto words = said.empty() ? "" : ": " + said;
  if (captured.timed_out) {
    return fmt::format("two ranks did not come to their end in {}{}", FormatDuration(kStartLimit), words);
  }
  if (!captured.status.Success()) return fmt::format("two ranks ended with {}{}", captured.status.Describe(), words);
  const auto measured = MeasuredIn(captured.output);
  if (measured.empty()) return "two ranks ended well, but said nothing";
  if (measured.size() > 1 || measured.front().ranks != kRanks) return "started lone ranks instead of two of one job";
  return {};
}

}  // namespace slipway::launcher
