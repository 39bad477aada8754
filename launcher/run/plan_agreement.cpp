#include "launcher/run/plan_agreement.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

namespace slipway::launcher {

using member::MemberHello;
using member::PlannedPlace;

std::optional<Error> Disagreement(const staging::StagingPlan& plan, const PlannedPlace& place,
                                  const std::string& node) {
  if (place.tier == plan.tier && place.directory == plan.directory) return {};
  auto message =
      fmt::format("dataset '{}' is to lie in tier {} ('{}') on every node, but node {} has it in tier {} ('{}')",
                  plan.request.name, plan.tier, plan.directory.string(), node, place.tier, place.directory.string());
  if (!place.rejected.empty()) message += fmt::format("; there not {}", fmt::join(place.rejected, "; not "));
  return Error(ErrorKind::kEnvironment, message,
               fmt::format("name a tier in data.{}.tier that is at the same path and has room on every node",
                           plan.request.name));
}

const PlannedPlace* PlaceOf(const std::string& dataset, const MemberHello& hello) {
  const auto place = std::ranges::find(hello.places, dataset, &PlannedPlace::dataset);
  return place == hello.places.end() ? nullptr : &*place;
}

std::vector<std::size_t> StagersOf(const std::string& dataset, const std::vector<MemberHello>& hellos) {
  std::vector<std::size_t> stagers;
  std::set<std::string> roots;
  for (std::size_t i = 0; i < hellos.size(); ++i) {
    const auto* place = PlaceOf(dataset, hellos[i]);
    if (place != nullptr && roots.insert(place->root).second) stagers.push_back(i);
  }
  return stagers;
}

}  // namespace slipway::launcher
