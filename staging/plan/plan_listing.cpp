#include "staging/plan/plan_listing.h"

namespace slipway::staging {

std::string RenderListingOf(const StagingPlan& plan) {
  return RenderListing(plan.request.format, plan.files.size(), [&](std::size_t i, ListedFile& listed) {
    const auto& file = plan.files[i];
    listed.path = file.name.native();
    listed.bytes = file.size;
    listed.records = file.records;
  });
}

}  // namespace slipway::staging
