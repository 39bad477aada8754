/// The text of a listing that is there as a whole.
#pragma once

#include <cstddef>
#include <string>

#include "staging/dataset/listing.h"

namespace slipway::staging {

inline std::string TextOf(const Listing& listing) {
  return RenderListing(listing.format, listing.files.size(),
                       [&](std::size_t i, ListedFile& file) { file = listing.files[i]; });
}

}  // namespace slipway::staging
