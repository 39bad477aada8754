/// Stands between two nodes, passes on what they say, and may change or repeat some of it.
#pragma once

#include <atomic>
#include <functional>
#include <string>
#include <thread>

#include "core/files.h"
#include "staging/network/node_group.h"

namespace slipway::staging {

class Proxy {
 public:
  /// `change` sees the bytes that the connecting side sends; `offset` counts them from the first.
  using Change = std::function<void(std::uint64_t offset, std::string& bytes)>;

  /// Listens on a port of its own at `to.host`, for one connection at a time.
  Proxy(NodeAddress to, Change change);
  ~Proxy();
  NodeAddress address() const { return address_; }

 private:
  void Run();
  void Pass(int from);

  const NodeAddress to_;
  const Change change_;
  NodeAddress address_;
  UniqueFd listener_;
  std::atomic<bool> stop_{false};
  std::jthread thread_;
};

}  // namespace slipway::staging
