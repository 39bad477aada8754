/// What slipway-gpus measures here and on other nodes, for a manager that must not wait for it.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/clock.h"
#include "core/event_loop.h"
#include "core/lines.h"
#include "core/unique_handle.h"
#include "launcher/ranks/local/gpu_helper.h"
#include "launcher/run/context/gpu_meter.h"

namespace slipway::launcher {

struct GpuPatience {
  std::chrono::milliseconds first{60'000};  ///< the driver may first wake its GPUs
  std::chrono::milliseconds next{10'000};   ///< an answer comes each second
};

class GpuWatch {
 public:
  using Report = std::function<void(const std::string& reason)>;

  /// Starts the process if there is a name, and NVML. If it fails or does not answer in time, it is ended, and `report`
  /// is called once.
  GpuWatch(EventLoop& loop, const GpusToMeasure& gpus, Report report, GpuPatience patience = {});
  GpuWatch(const GpuWatch&) = delete;
  GpuWatch& operator=(const GpuWatch&) = delete;
  ~GpuWatch();

  /// As last answered.
  const GpuSums& sums() const { return sums_; }
  /// Takes a last answer, if one comes at once.
  void Finish();

 private:
  void Start(const GpusToMeasure& gpus);
  void Read();
  void Take(const std::string& answer);
  void Check();
  void CheckInTime();
  void Leave();
  void GiveUp(const std::string& why);

  EventLoop& loop_;
  Report report_;
  GpuPatience patience_;
  GpuSums sums_;
  std::unique_ptr<GpuHelper> helper_;
  bool has_answered_ = false;
  SteadyTime heard_;
  std::optional<EventLoop::TimerId> timer_;
};

/// The arguments of a slipway-gpus that gives a line each `between_lines`.
std::vector<std::string> GpuArguments(const GpusToMeasure& gpus, std::chrono::seconds between_lines);

/// The time between two lines of a node, and between two writes of what they say: 30 ms for each node, from 5 s to 60
/// s. So a manager reads at most 34 lines a second, up to 2,000 nodes.
std::chrono::seconds BetweenGpuLines(int nodes);

/// A slipway-gpus that the agent of a node has started.
struct GpusOfNode {
  std::string node;
  UniqueFd stream;                ///< its lines; about 400 bytes for each GPU in one
  std::function<bool()> is_lost;  ///< the node is; then the end of its lines is no news
};

/// What the GPUs of other nodes take and do. The driver of a node may block its slipway-gpus: then that node is given
/// up, and the others go on.
class NodesGpuWatch {
 public:
  /// `patience.next`: longer than the time between two lines. `report` is called once for all nodes that end together.
  NodesGpuWatch(EventLoop& loop, std::vector<GpusOfNode> nodes, GpuWatch::Report report, GpuPatience patience);
  NodesGpuWatch(const NodesGpuWatch&) = delete;
  NodesGpuWatch& operator=(const NodesGpuWatch&) = delete;
  ~NodesGpuWatch();

  bool empty() const { return nodes_.empty(); }
  /// As last answered, node by node.
  GpuSums sums() const;
  /// Requests a last line of each node, and waits at most a second for all.
  void Finish();

 private:
  struct Node {
    std::string name;
    UniqueFd stream;
    std::function<bool()> is_lost;
    LineBuffer lines;
    GpuSums sums;
    SteadyTime heard;
    bool has_answered = false;
  };
  void Read(Node& node);
  void Take(Node& node, std::string_view line);
  void Leave(Node& node);
  void Check();
  void CheckLater();
  void ReportEnded();
  bool AwaitLines(SteadyTime deadline);

  EventLoop& loop_;
  GpuWatch::Report report_;
  GpuPatience patience_;
  std::vector<Node> nodes_;
  std::vector<std::string> ended_;  ///< nodes not reported yet
  bool is_finishing_ = false;       ///< an end is no news any more
  std::optional<EventLoop::TimerId> timer_;
};

}  // namespace slipway::launcher
