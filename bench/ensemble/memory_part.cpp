#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <exception>
#include <fstream>
#include <functional>
#include <string>
#include <vector>

#include "bench/ensemble/noop_runner.h"
#include "bench/ensemble/parts.h"
#include "core/error.h"
#include "core/files.h"
#include "core/unique_handle.h"

namespace slipway::bench {
namespace {

[[noreturn]] void Answer(int fd, const std::function<std::vector<double>()>& measure) {
  try {
    const auto figures = measure();
    const std::size_t bytes = figures.size() * sizeof(double);
    ::_exit(::write(fd, figures.data(), bytes) == static_cast<ssize_t>(bytes) ? 0 : 1);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
  }
  ::_exit(1);
}

double StatusMegabytes(const std::string& field) {
  std::ifstream file("/proc/self/status");
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with(field + ":")) return std::stod(line.substr(field.size() + 1)) * 1024 / 1e6;
  }
  throw Error(ErrorKind::kEnvironment, "/proc/self/status has no " + field, "run it on Linux, with /proc mounted");
}

/// Calls `measure` in a forked child and returns what it returned. The caller must have one thread.
/// Errors: Error(kFailed) when the child fails; it has said why.
std::vector<double> InChild(const std::function<std::vector<double>()>& measure) {
  int ends[2];
  CheckErrno(::pipe(ends), "cannot create a pipe");
  const UniqueFd from(ends[0]);
  UniqueFd to(ends[1]);
  std::fflush(nullptr);
  const pid_t child = CheckErrno(::fork(), "cannot fork");
  if (child == 0) Answer(to.get(), measure);
  to.Reset();
  std::vector<double> figures;
  for (double figure = 0; ::read(from.get(), &figure, sizeof figure) == sizeof figure;) figures.push_back(figure);
  int status = 0;
  ::waitpid(child, &status, 0);
  if (status != 0) throw Error(ErrorKind::kFailed, "a measuring process failed", "see what it printed above");
  return figures;
}

/// Resident memory of this process in MB: now, and the most there ever was.
double ResidentMegabytes() { return StatusMegabytes("VmRSS"); }
double MostResidentMegabytes() { return StatusMegabytes("VmHWM"); }

constexpr int kReports = 100;
constexpr int kReportsAtOnce = 10;
constexpr int kParallel = 8;
constexpr double kGoalMegabytes = 200;
constexpr std::array kMemoryMarks = {1000, 5000, 10000};

/// Looks at the memory when so many trials were begun.
class Sampler : public NoObserver {
 public:
  void AttemptStarted(const ensemble::TrialRecord& trial) override {
    if (next_ < kMemoryMarks.size() && trial.number + 1 >= kMemoryMarks[next_]) {
      ++next_;
      figures.push_back(ResidentMegabytes());
    }
  }
  void MetricReported(const ensemble::MetricRecord&) override { ++reports; }

  std::vector<double> figures;
  double reports = 0;

 private:
  std::size_t next_ = 0;
};

ensemble::EnsembleOptions OptionsWith(const std::string& scheduler) {
  auto options = TenParameters(kMemoryMarks.back(), kParallel);
  options.scheduler.type = scheduler;
  options.scheduler.max = kReports;
  options.scheduler.trials = options.trials;
  options.scheduler.parallel = kParallel;
  options.scheduler.goal = ensemble::Goal::kMinimize;
  return options;
}

/// Memory at the marks, the most there was, the memory before, and the number of reports.
std::vector<double> RunOnce(const std::filesystem::path& folder, const std::string& scheduler) {
  const double before = ResidentMegabytes();
  MakeDirectories(folder);
  Sampler sampler;
  {
    auto book = ensemble::TrialBook::OpenForWriting(folder);
    NoopRunner runner(kReports, kReportsAtOnce);
    const auto options = OptionsWith(scheduler);
    ensemble::RunEnsemble(book, options, runner, sampler);
  }
  sampler.figures.resize(kMemoryMarks.size());
  sampler.figures.insert(sampler.figures.end(), {MostResidentMegabytes(), before, sampler.reports});
  return sampler.figures;
}

Figure MeasureWith(const std::string& scheduler, const std::filesystem::path& folder) {
  const auto found = InChild([&] { return RunOnce(folder, scheduler); });
  Figure figure{"memory", fmt::format("peak, {} trials, scheduler {}", kMemoryMarks.back(), scheduler),
                found[kMemoryMarks.size()], "MB"};
  figure.what += fmt::format(", {:.0f} reports", found.back());
  for (std::size_t i = 0; i < kMemoryMarks.size(); ++i) {
    figure.beside.push_back({fmt::format("resident at {} trials", kMemoryMarks[i]), found[i], false});
  }
  figure.beside.push_back({"resident before the first", found[kMemoryMarks.size() + 1], false});
  figure.goal = fmt::format("< {:g}", kGoalMegabytes);
  figure.reached = figure.value < kGoalMegabytes;
  return figure;
}

}  // namespace

std::vector<Figure> MeasureMemory(const PartOptions& options) {
  std::vector<Figure> figures;
  for (const std::string scheduler : {"none", "median", "asha"}) {
    figures.push_back(MeasureWith(scheduler, options.folder / scheduler));
  }
  return figures;
}

}  // namespace slipway::bench
