#include "launcher/attempt/nodes_in_use.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <numeric>

#include "launcher/attempt/allocation.h"
#include "launcher/plan/data_plan.h"

namespace slipway::launcher {
namespace {

/// 0: the program has no argument for it.
std::int64_t GlobalBatchOf(const TrainSpec& train) {
  const auto parameters = EffectiveParameters(train, Json::object());
  const auto found = parameters.find("global_batch_size");
  return found != parameters.end() && found->is_number_integer() ? found->get<std::int64_t>() : 0;
}

/// The same run on fewer nodes, with a new plan for the gradient exchange.
Plan WithNodes(Plan plan, int nodes) {
  auto& launch = plan.document.spec.launch;
  launch.nodes = nodes;
  launch.nodes_per_job = nodes;
  plan.exchange = PlanExchange(plan.spec());
  return plan;
}

}  // namespace

std::optional<int> NodesToGoOnWith(int living, int least, int ranks_per_node, std::int64_t global_batch) {
  for (int nodes = living; nodes >= std::max(1, least); --nodes) {
    if (global_batch % (static_cast<std::int64_t>(nodes) * ranks_per_node) == 0) return nodes;
  }
  return {};
}

NodesInUse::NodesInUse(const Plan& plan, Allocation* allocation) : plan_(plan), allocation_(allocation) {
  if (allocation_ == nullptr) return;
  on_.resize(static_cast<std::size_t>(plan.spec().launch.nodes));
  std::iota(on_.begin(), on_.end(), 0);
}

NodesOfAttempt NodesInUse::where() const {
  if (allocation_ == nullptr) return {};
  return {&allocation_->nodes(), on_};
}

std::string NodesInUse::Trouble() const {
  for (const int node : on_) {
    if (auto trouble = allocation_->nodes().TroubleOf(node); !trouble.empty()) return trouble;
  }
  return {};
}

std::optional<int> NodesToGoOnWith(int living, const Spec& spec) {
  const int all = spec.launch.nodes;
  if (living >= all) return all;
  if (spec.resilience.on_node_failure != OnNodeFailure::kExclude) return {};
  return NodesToGoOnWith(living, spec.resilience.min_nodes, spec.launch.ranks_per_node, GlobalBatchOf(spec.train));
}

bool NodesInUse::LeaveOutLost() {
  if (std::ranges::any_of(plan_.data, IsSharedOut)) return false;  // a share is gone with its node
  const auto living = allocation_->Living();
  const auto count = NodesToGoOnWith(static_cast<int>(living.size()), plan_.spec());
  if (!count) return false;
  on_.assign(living.begin(), living.begin() + *count);
  if (*count < plan_.spec().launch.nodes) fewer_ = WithNodes(plan_, *count);
  return true;
}

}  // namespace slipway::launcher
