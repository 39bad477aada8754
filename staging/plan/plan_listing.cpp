#include "staging/plan/plan_listing.h"

namespace slipway::staging {

Listing ListingOf(const StagingPlan& plan) {
  Listing listing{plan.request.format, {}};
  for (const auto& file : plan.files) listing.files.push_back({file.name.string(), file.size, file.records});
  return listing;
}

}  // namespace slipway::staging
