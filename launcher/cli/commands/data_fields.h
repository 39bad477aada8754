/// Texts and documents of `slipway data` for the fields of a record.
#pragma once

#include <string>

#include "core/json.h"
#include "staging/dataset/first_record.h"

namespace slipway::launcher {

/// "image: bytes 28x28"
std::string FieldInfoText(const staging::FieldInfo& field);
Json FieldInfoDocument(const staging::FieldInfo& field);

}  // namespace slipway::launcher
