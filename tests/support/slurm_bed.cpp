#include "tests/support/slurm_bed.h"

#include <unistd.h>

#include <cstdio>
#include <stdexcept>

#include "core/process.h"

namespace slipway::test {
namespace fs = std::filesystem;

namespace {

constexpr int kCannotHere = 77;
/// On a busy machine, too, no node is lost that is alive.
constexpr auto kSteady = "SlurmdTimeout=30";

std::string Program() { return fs::path(SLIPWAY_SOURCE_DIR) / "tests/slurm/testbed"; }

Captured Run(std::vector<std::string> argv, const Environment& environment) {
  SpawnOptions options;
  options.argv = std::move(argv);
  options.environment = environment;
  return RunAndCapture(std::move(options), std::chrono::seconds(60));
}

std::string RunWell(std::vector<std::string> argv, const Environment& environment) {
  const auto name = argv.front();
  auto done = Run(std::move(argv), environment);
  if (!done.status.Success()) throw std::runtime_error(name + ": " + done.status.Describe() + ": " + done.errors);
  return std::move(done.output);
}

std::vector<std::string> Words(std::vector<std::string> words, const std::vector<std::string>& more) {
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

/// What a shell has after `exports`.
Environment EnvironmentAfter(const std::string& exports) {
  const auto listed = RunWell({"sh", "-c", exports + "\nenv -0"}, Environment::Inherited());
  Environment environment = Environment::Inherited();
  for (std::size_t begin = 0; begin < listed.size();) {
    const auto end = listed.find('\0', begin);
    const auto entry = listed.substr(begin, end - begin);
    const auto equals = entry.find('=');
    environment.Set(entry.substr(0, equals), entry.substr(equals + 1));
    begin = end + 1;
  }
  return environment;
}

}  // namespace

std::string SlurmBed::WhyNot(const std::vector<std::string>& options) {
  std::error_code error;
  if (!fs::exists(Program(), error)) return "there is no " + Program();
  const auto done = Run(Words({Program(), "check"}, options), Environment::Inherited());
  if (done.status.Success()) return {};
  if (done.status.code == kCannotHere) return done.errors;
  throw std::runtime_error("testbed check: " + done.status.Describe() + ": " + done.errors);
}

SlurmBed::SlurmBed(const std::vector<std::string>& options)
    : environment_(EnvironmentAfter(
          RunWell(Words({Program(), "up", "--follow", std::to_string(::getpid()), "--conf", kSteady}, options),
                  Environment::Inherited()))) {}

SlurmBed::~SlurmBed() {
  try {
    Run({Program(), "down"}, environment_);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "testbed: %s\n", error.what());  // it follows this process to its end
  }
}

fs::path SlurmBed::shared() const { return environment_.Get("SLIPWAY_TESTBED_SHARED").value(); }

void SlurmBed::Order(const std::vector<std::string>& words) const { RunWell(Words({Program()}, words), environment_); }

std::string SlurmBed::Client(const std::vector<std::string>& words) const { return RunWell(words, environment_); }

}  // namespace slipway::test
