#include "ensemble/exchange/stored_space.h"

#include <nlohmann/json.hpp>

#include "core/error.h"

namespace slipway::ensemble {

SearchSpace StoredSpace(const StudyRecord& study) try {
  return ParseSpace(Json::parse(study.space, nullptr, false));
} catch (const Error& error) {
  throw Error(ErrorKind::kEnvironment, "the trial book holds a search space that cannot be: " + error.message(),
              "it was changed by another program; restore it from a copy");
}

}  // namespace slipway::ensemble
