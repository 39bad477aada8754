#include "bench/ensemble/in_child.h"

#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <exception>
#include <fstream>
#include <string>

#include "core/error.h"
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

}  // namespace

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

double ResidentMegabytes() { return StatusMegabytes("VmRSS"); }
double MostResidentMegabytes() { return StatusMegabytes("VmHWM"); }

}  // namespace slipway::bench
