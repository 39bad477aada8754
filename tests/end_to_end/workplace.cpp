#include "tests/end_to_end/workplace.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <thread>

#include "core/error.h"
#include "core/files.h"

namespace slipway::test {
namespace fs = std::filesystem;

namespace {

constexpr auto kProgram = SLIPWAY_BUILD_DIR "/bin/slipway";
constexpr auto kLimit = std::chrono::seconds(60);

/// False for a process that ends meanwhile: its file can be opened, but not read.
bool Mentions(const fs::path& file, const std::string& text) try {
  return ReadFile(file).find(text) != std::string::npos;
} catch (const Error&) {
  return false;
}

}  // namespace

std::vector<pid_t> ProcessesOf(const fs::path& directory) {
  std::vector<pid_t> found;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator("/proc", error)) {
    const auto pid = std::atoi(entry.path().filename().c_str());
    if (pid <= 1 || pid == ::getpid()) continue;
    const bool ours = Mentions(entry.path() / "environ", directory.string()) ||
                      Mentions(entry.path() / "cmdline", directory.string());
    if (ours && IsAlive(IdentityOf(pid))) found.push_back(pid);
  }
  return found;
}

Workplace::Workplace() : environment_(Environment::Inherited()) {
  for (const char* name : {"ram", "node", "burst"}) fs::create_directory(directory_ / name);
  environment_.Set("SLIPWAY_TIER_RAM", (directory_ / "ram").string());
  environment_.Set("SLIPWAY_TIER_NODE", (directory_ / "node").string());
  environment_.Set("XDG_CONFIG_HOME", (directory_ / "config").string());
  for (const char* name : {"SLIPWAY_RUNS", "SLIPWAY_DATA_ROOT", "SLIPWAY_ALGORITHMS", "SLIPWAY_ALGORITHM_TABLE",
                           "SLIPWAY_WAYS", "SLIPWAY_RANKS_PER_NODE", "SLIPWAY_SITE"}) {
    environment_.Unset(name);
  }
}

Workplace::~Workplace() {
  // A process that is just ending gets a moment, but less than ranks that may still save.
  std::vector<pid_t> left;
  for (int i = 0; i < 160 && !(left = ProcessesOf(directory_.path())).empty(); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  EXPECT_TRUE(left.empty()) << left.size() << " processes still run";
  for (const auto pid : left) ::kill(pid, SIGKILL);
}

void Workplace::Write(const std::string& name, const std::string& content) const {
  MakeDirectories((directory_ / name).parent_path());
  WriteFile(directory_ / name, content);
}

void Workplace::WriteSpec(const std::string& name, const std::string& command, int ranks,
                          const std::string& more) const {
  Write(name,
        fmt::format(
            "name: test\nlaunch: {{engine: local, workdir: spec, ranks_per_node: {}}}\ntrain:\n  command: {}\n{}\n",
            ranks, command, more));
}

SpawnOptions Workplace::OptionsFor(std::vector<std::string> arguments) const {
  SpawnOptions options;
  options.argv = {kProgram};
  options.argv.insert(options.argv.end(), arguments.begin(), arguments.end());
  options.environment = environment_;
  options.working_directory = directory_.path();
  return options;
}

Captured Workplace::Slipway(std::vector<std::string> arguments) const {
  auto captured = RunAndCapture(OptionsFor(std::move(arguments)), kLimit);
  EXPECT_FALSE(captured.timed_out);
  return captured;
}

Captured Workplace::Shell(const std::string& line) const {
  auto options = OptionsFor({});
  options.argv = {"sh", "-c", line, kProgram};
  auto captured = RunAndCapture(options, kLimit);
  EXPECT_FALSE(captured.timed_out);
  return captured;
}

Captured Workplace::SlipwayReading(const std::string& input, std::vector<std::string> arguments) const {
  auto options = OptionsFor(std::move(arguments));
  const auto file = OpenFile(directory_ / input, O_RDONLY);
  options.stdin_fd = file.get();
  auto captured = RunAndCapture(options, kLimit);
  EXPECT_FALSE(captured.timed_out);
  return captured;
}

ChildProcess Workplace::Start(std::vector<std::string> arguments, int input) const {
  auto options = OptionsFor(std::move(arguments));
  options.stdin_fd = input;
  const auto log = OpenFile(directory_ / "output.log", O_WRONLY | O_CREAT | O_APPEND);
  options.stdout_fd = log.get();
  options.stderr_fd = log.get();
  return ChildProcess::Spawn(options);
}

Json Workplace::Status() const {
  const auto captured = Slipway({"status", "last", "--json"});
  return Json::parse(captured.output);
}

fs::path Workplace::RunFolder() const {
  const auto runs = directory_ / "runs";
  for (int i = 0; i < 6000; ++i) {
    std::error_code none_yet;
    for (const auto& entry : fs::directory_iterator(runs, none_yet)) {
      if (!entry.path().filename().native().starts_with('.')) return entry.path();
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  ADD_FAILURE() << "there is no run";
  return {};
}

void Workplace::WaitForFile(const fs::path& path) const {
  for (int i = 0; i < 6000 && !fs::exists(path); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  ASSERT_TRUE(fs::exists(path)) << path;
}

void Workplace::WaitForWords(const std::string& text) const {
  const auto said = [&] { return ReadFileIfPresent(directory_ / "output.log").value_or(""); };
  const auto is_there = [&] { return said().find(text) != std::string::npos; };
  for (int i = 0; i < 6000 && !is_there(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  ASSERT_TRUE(is_there()) << "not '" << text << "' but:\n" << said();
}

std::vector<std::string> Workplace::StagedFiles() const {
  std::vector<std::string> files;
  for (const char* tier : {"ram", "node", "burst"}) {
    for (const auto& entry : fs::recursive_directory_iterator(directory_ / tier)) {
      const auto name = entry.path().lexically_relative(directory_ / tier);
      const bool is_outbox = name.parent_path() == ".out";  // also an empty one
      if (name.string().find(".locks") != std::string::npos) continue;
      if (is_outbox || entry.is_symlink() || !entry.is_directory()) files.push_back(name.string());
    }
  }
  return files;
}

}  // namespace slipway::test
