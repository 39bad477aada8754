/// The search space of a study in a trial book.
#pragma once

#include "ensemble/model/records.h"
#include "ensemble/space/space.h"

namespace slipway::ensemble {

/// Parses the space of a study.
/// Errors: Error(kEnvironment) when the book's text is no space.
SearchSpace StoredSpace(const StudyRecord& study);

}  // namespace slipway::ensemble
