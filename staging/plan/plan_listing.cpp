#include "staging/plan/plan_listing.h"

namespace slipway::staging {

std::string RenderListingOf(const StagingPlan& plan) {
  return RenderListing(plan.request.format, plan.files.size(), [&](std::size_t i) {
    const auto& file = plan.files[i];
    return ListedFile{file.name.string(), file.size, file.records};
  });
}

}  // namespace slipway::staging
