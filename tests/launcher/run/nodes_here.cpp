#include "tests/launcher/run/nodes_here.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>

#include "tests/support/privileges.h"

namespace slipway::launcher {
namespace fs = std::filesystem;
namespace {

constexpr auto kPatience = std::chrono::seconds(60);

[[noreturn]] void Execute(const std::vector<std::string>& words) {
  std::vector<char*> pointers;
  for (const auto& word : words) pointers.push_back(const_cast<char*>(word.c_str()));
  pointers.push_back(nullptr);
  ::execv(pointers[0], pointers.data());
  ::_exit(126);
}

bool MountOwn(const fs::path& place, int mebibytes) {
  const auto options = fmt::format("size={}m,mode=0755", mebibytes);
  return test::EnterOwnNamespaces() && ::mount("slipway-test", place.c_str(), "tmpfs", 0, options.c_str()) == 0;
}

/// The words of a process, each followed by a space; empty when it is gone.
std::string CommandOf(const fs::path& process) {
  const UniqueFd file(::open((process / "cmdline").c_str(), O_RDONLY | O_CLOEXEC));
  std::string text(4096, '\0');
  const auto count = ::read(file.get(), text.data(), text.size());
  text.resize(count > 0 ? static_cast<std::size_t>(count) : 0);
  for (auto& c : text) {
    if (c == '\0') c = ' ';
  }
  return text;
}

}  // namespace

NodesHere::NodesHere() {
  if (const char* before = std::getenv("TMPDIR")) temporary_ = before;
  fs::create_directory(local());
  ::setenv("TMPDIR", local().c_str(), 1);
}

NodesHere::~NodesHere() {
  nodes_.reset();
  for (const auto& agent : agents_) ::waitpid(agent.pid, nullptr, 0);
  temporary_ ? ::setenv("TMPDIR", temporary_->c_str(), 1) : ::unsetenv("TMPDIR");
}

bool NodesHere::Start(const std::vector<int>& mebibytes) {
  if (!test::Succeeded(test::InChild([&] { return MountOwn(local(), 1); }))) return false;
  Nodes::Options options;
  options.count = static_cast<int>(mebibytes.size());
  options.run = shared() / "run";
  options.key_folder = shared();
  options.host = "localhost";
  options.sockets_in = local();
  options.patience = {std::chrono::seconds(120)};  // nodes are slow here, not lost
  nodes_ = std::make_unique<Nodes>(options);
  for (int node = 0; node < options.count; ++node) {
    agents_.push_back(StartAgent(node, mebibytes[static_cast<std::size_t>(node)]));
  }
  EXPECT_TRUE(nodes_->AwaitJoined(kPatience)) << nodes_->Missing();
  for (auto& agent : agents_) {
    const auto there = fmt::format("/proc/{}/root{}", agent.pid, local().string());
    agent.local = UniqueFd(::open(there.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  }
  return true;
}

/// What it needs is made before the fork.
NodesHere::Agent NodesHere::StartAgent(int node, int mebibytes) const {
  const auto name = fmt::format("n{}", node);
  const auto words = AgentCommand(nodes_->agents());
  return {test::InChild([&] {
            ::setenv("SLURM_NODEID", std::to_string(node).c_str(), 1);
            ::setenv("SLURMD_NODENAME", name.c_str(), 1);
            if (!MountOwn(local(), mebibytes)) return false;
            Execute(words);
            return false;
          }),
          {}};
}

fs::path NodesHere::Seen(int node, const fs::path& path) const {
  const auto& agent = agents_.at(static_cast<std::size_t>(node));
  return fs::path(fmt::format("/proc/self/fd/{}", agent.local.get())) / path.lexically_relative(local());
}

void NodesHere::Kill(int node) { ::kill(agents_.at(static_cast<std::size_t>(node)).pid, SIGKILL); }

pid_t NodesHere::MemberOn(int node) const {
  const auto number = fmt::format(" --node {} ", node);
  for (const auto& entry : fs::directory_iterator("/proc")) {
    const auto command = CommandOf(entry.path());
    if (command.find(" stage-member " + shared().string()) == std::string::npos) continue;
    if (command.find(number) != std::string::npos) return std::atoi(entry.path().filename().c_str());
  }
  return 0;
}

void NodesHere::LeaveAlone() { nodes_.reset(); }

}  // namespace slipway::launcher
