#include "launcher/run/data/plan_agreement.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

namespace slipway::launcher {

using member::MemberHello;
using member::Offer;

namespace {

const Offer* OfferOf(const std::string& dataset, const std::string& tier, const MemberHello& hello) {
  const auto offer = std::ranges::find_if(
      hello.offers, [&](const Offer& each) { return each.dataset == dataset && each.tier == tier; });
  return offer == hello.offers.end() ? nullptr : &*offer;
}

/// Why the nodes cannot all hold it there; empty when they can.
std::string Obstacle(const std::string& dataset, const std::string& tier, const std::vector<MemberHello>& hellos) {
  const Offer* first = nullptr;
  for (const auto& hello : hellos) {
    const auto* offer = OfferOf(dataset, tier, hello);
    if (offer == nullptr) return fmt::format("{}: node {} does not know it", tier, hello.address.name);
    if (!offer->reason.empty()) return fmt::format("{} (on node {})", offer->reason, hello.address.name);
    if (first == nullptr) first = offer;
    if (offer->shared_out != first->shared_out) {
      return fmt::format("{}: node {} sees other files of it than node {}", tier, hello.address.name,
                         hellos.front().address.name);
    }
    if (offer->directory == first->directory) continue;
    return fmt::format("{}: it would be '{}' on node {}, but '{}' on node {}", tier, first->directory.string(),
                       hellos.front().address.name, offer->directory.string(), hello.address.name);
  }
  return {};
}

}  // namespace

AgreedTier AgreeOnTier(const staging::StagingPlan& plan, const std::vector<MemberHello>& hellos) {
  const auto& dataset = plan.request.name;
  const auto& tiers = plan.request.tiers;
  AgreedTier agreed;
  for (auto tier = std::ranges::find(tiers, plan.tier); tier != tiers.end(); ++tier) {
    auto obstacle = Obstacle(dataset, *tier, hellos);
    agreed.tier = *tier;
    if (obstacle.empty()) return agreed;
    agreed.skipped.push_back(std::move(obstacle));
  }
  throw Error(ErrorKind::kEnvironment,
              fmt::format("no tier can hold dataset '{}' on all {} nodes: {}", dataset, hellos.size(),
                          fmt::join(agreed.skipped, "; ")),
              fmt::format("name a tier in data.{}.tier that is at the same path and has space on every node, or add "
                          "'none' there to read the files where they are",
                          dataset));
}

std::vector<std::size_t> StagersOf(const member::TierOfDataset& what, const std::vector<MemberHello>& hellos) {
  std::vector<std::size_t> stagers;
  std::set<std::string> roots;
  for (std::size_t i = 0; i < hellos.size(); ++i) {
    const auto* offer = OfferOf(what.dataset, what.tier, hellos[i]);
    if (offer != nullptr && roots.insert(offer->root).second) stagers.push_back(i);
  }
  return stagers;
}

}  // namespace slipway::launcher
