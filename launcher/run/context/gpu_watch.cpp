#include "launcher/run/context/gpu_watch.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <nlohmann/json.hpp>
#include <utility>

#include "core/json.h"
#include "core/log.h"
#include "core/units.h"
#include "launcher/ranks/local/nvml.h"

namespace slipway::launcher {
namespace {

constexpr auto kLastAnswerPatience = std::chrono::milliseconds(500);  // reading counters takes 4 ms for each GPU
constexpr auto kLastLinesPatience = std::chrono::seconds(1);          // of all nodes
constexpr std::size_t kMostNamed = 3;
constexpr std::size_t kLongestLine = std::size_t{1} << 20;

/// Longer than the longest call of a driver that answers.
constexpr auto kBetweenChecks = std::chrono::seconds(5);

/// "n1, n2, n3 and 5 more".
std::string NamesOf(const std::vector<std::string>& nodes) {
  const std::vector<std::string> named(nodes.begin(), nodes.begin() + std::min(nodes.size(), kMostNamed));
  const auto text = fmt::format("{}", fmt::join(named, ", "));
  return named.size() == nodes.size() ? text : fmt::format("{} and {} more", text, nodes.size() - named.size());
}

}  // namespace

std::vector<std::string> GpuArguments(const GpusToMeasure& gpus, std::chrono::seconds between_lines) {
  std::vector<std::string> arguments{std::string(WordOf(gpus.what)), std::to_string(between_lines.count()),
                                     gpus.run.empty() ? std::string(kEveryRun) : gpus.run};
  arguments.insert(arguments.end(), gpus.names.begin(), gpus.names.end());
  return arguments;
}

std::chrono::seconds BetweenGpuLines(int nodes) {
  return std::clamp(std::chrono::ceil<std::chrono::seconds>(nodes * std::chrono::milliseconds(30)),
                    std::chrono::seconds(5), std::chrono::seconds(60));
}

/// The run matters more than this.
GpuWatch::GpuWatch(EventLoop& loop, const GpusToMeasure& gpus, Report report, GpuPatience patience)
    : loop_(loop), report_(std::move(report)), patience_(patience), heard_(SystemClock().Steady()) {
  if (gpus.names.empty() || !HasNvml()) return;
  try {
    Start(gpus);
  } catch (const std::exception& error) {
    GiveUp(error.what());
  }
}

GpuWatch::~GpuWatch() { Leave(); }

void GpuWatch::Start(const GpusToMeasure& gpus) {
  helper_ = std::make_unique<GpuHelper>(GpuArguments(gpus, std::chrono::seconds(1)));
  loop_.OnReadable(helper_->fd(), [this] { Read(); });
  CheckInTime();
}

void GpuWatch::Read() {
  if (const auto answer = helper_->TakeAnswer()) Take(*answer);
  if (!helper_->at_end()) return;
  const auto status = helper_->Status();
  status && !status->Success() ? GiveUp("slipway-gpus ended: " + status->Describe()) : Leave();
}

void GpuWatch::Take(const std::string& answer) try {
  sums_ = ReadFields<GpuSums>(Json::parse(answer), {"the answer of slipway-gpus"});
  heard_ = SystemClock().Steady();
  if (!std::exchange(has_answered_, true)) CheckInTime();
} catch (const std::exception& error) {
  log::Warn("{}", error.what());
}

void GpuWatch::CheckInTime() {
  if (timer_) loop_.Cancel(*timer_);
  const auto due = heard_ + (has_answered_ ? patience_.next : patience_.first);
  timer_ = loop_.After(std::max(due - SystemClock().Steady(), std::chrono::nanoseconds(0)), [this] { Check(); });
}

/// What lies in the pipe counts: this process may have been the slow one.
void GpuWatch::Check() {
  timer_.reset();
  Read();
  if (!helper_) return;
  const auto patience = has_answered_ ? patience_.next : patience_.first;
  if (SystemClock().Steady() - heard_ < patience) return CheckInTime();
  GiveUp(fmt::format("the driver has not answered for {}; dmesg shows whether it reports an error (Xid)",
                     FormatDuration(Seconds(patience))));
}

void GpuWatch::Leave() {
  if (timer_) loop_.Cancel(*timer_);
  timer_.reset();
  if (helper_) loop_.Forget(helper_->fd());
  helper_.reset();
}

void GpuWatch::GiveUp(const std::string& why) {
  Leave();
  if (report_) report_("GPUs are measured no more: " + why);
}

void GpuWatch::Finish() {
  if (!helper_) return;
  if (const auto answer = helper_->Finish(kLastAnswerPatience)) Take(*answer);
  Leave();
}

// ---- other nodes

NodesGpuWatch::NodesGpuWatch(EventLoop& loop, std::vector<GpusOfNode> nodes, GpuWatch::Report report,
                             GpuPatience patience)
    : loop_(loop), report_(std::move(report)), patience_(patience) {
  const auto now = SystemClock().Steady();
  for (auto& [name, stream, is_lost] : nodes) {
    nodes_.push_back({std::move(name), std::move(stream), std::move(is_lost), LineBuffer(kLongestLine), {}, now});
  }
  for (auto& node : nodes_) {
    loop_.OnReadable(node.stream.get(), [this, &node] { Read(node); });
  }
  if (!nodes_.empty()) CheckLater();
}

NodesGpuWatch::~NodesGpuWatch() {
  if (timer_) loop_.Cancel(*timer_);
  for (auto& node : nodes_) Leave(node);
}

GpuSums NodesGpuWatch::sums() const {
  GpuSums sums;
  for (const auto& node : nodes_) {
    sums.energies.insert(sums.energies.end(), node.sums.energies.begin(), node.sums.energies.end());
    sums.uses.insert(sums.uses.end(), node.sums.uses.begin(), node.sums.uses.end());
  }
  return sums;
}

/// A node without a GPU to measure has said so in its only line.
void NodesGpuWatch::Read(Node& node) {
  char piece[65536];
  while (node.stream) {
    const auto count = ::recv(node.stream.get(), piece, sizeof piece, MSG_DONTWAIT);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && errno == EAGAIN) return;
    if (count > 0) node.lines.Add({piece, static_cast<std::size_t>(count)});
    std::string_view line;
    while (node.lines.Next(line)) Take(node, line);
    if (count > 0 && !node.lines.overlong()) continue;
    const bool has_gpus = !node.sums.uses.empty() || !node.sums.energies.empty();
    if (!is_finishing_ && (!node.has_answered || has_gpus) && !node.is_lost()) ended_.push_back(node.name);
    Leave(node);
  }
}

/// The node's name counts, not what its host calls itself: Slurm and the user know it by that.
void NodesGpuWatch::Take(Node& node, std::string_view line) try {
  node.sums = ReadFields<GpuSums>(Json::parse(line), {"the answer of slipway-gpus on " + node.name});
  for (auto& energy : node.sums.energies) energy.host = node.name;
  for (auto& use : node.sums.uses) use.host = node.name;
  node.heard = SystemClock().Steady();
  node.has_answered = true;
} catch (const std::exception& error) {
  log::Warn("{}", error.what());
}

void NodesGpuWatch::Leave(Node& node) {
  if (!node.stream) return;
  loop_.Forget(node.stream.get());
  node.stream.Reset();
}

void NodesGpuWatch::CheckLater() {
  timer_ = loop_.After(std::min<std::chrono::nanoseconds>(kBetweenChecks, std::min(patience_.first, patience_.next)),
                       [this] { Check(); });
}

/// What lies in a stream counts: this process may have been the slow one.
void NodesGpuWatch::Check() {
  std::vector<std::string> silent;
  for (auto& node : nodes_) {
    Read(node);
    const auto patience = node.has_answered ? patience_.next : patience_.first;
    if (!node.stream || SystemClock().Steady() - node.heard < patience) continue;
    silent.push_back(node.name);
    Leave(node);
  }
  if (!silent.empty() && report_) {
    report_(
        fmt::format("GPUs of {} are measured no more: the driver there has not answered in time; dmesg shows whether "
                    "it reports an error (Xid)",
                    NamesOf(silent)));
  }
  ReportEnded();
  const bool listens = std::ranges::any_of(nodes_, [](const Node& node) { return static_cast<bool>(node.stream); });
  timer_.reset();
  if (listens) CheckLater();
}

void NodesGpuWatch::ReportEnded() {
  if (!ended_.empty() && report_) {
    report_(fmt::format("GPUs of {} are measured no more: slipway-gpus ended there; agents.log has the reason",
                        NamesOf(ended_)));
  }
  ended_.clear();
}

/// False when no line can come any more.
bool NodesGpuWatch::AwaitLines(SteadyTime deadline) {
  std::vector<pollfd> watches;
  for (const auto& node : nodes_) {
    if (node.stream) watches.push_back({node.stream.get(), POLLIN, 0});
  }
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - SystemClock().Steady()).count();
  return !watches.empty() && left > 0 && ::poll(watches.data(), watches.size(), static_cast<int>(left)) > 0;
}

void NodesGpuWatch::Finish() {
  ReportEnded();
  if (timer_) loop_.Cancel(*timer_);
  timer_.reset();
  is_finishing_ = true;
  for (const auto& node : nodes_) {
    if (node.stream) ::send(node.stream.get(), "\n", 1, MSG_NOSIGNAL | MSG_DONTWAIT);
  }
  const auto deadline = SystemClock().Steady() + kLastLinesPatience;
  while (AwaitLines(deadline)) {
    for (auto& node : nodes_) Read(node);
  }
}

}  // namespace slipway::launcher
