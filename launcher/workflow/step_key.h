/// The key of a step: a name for all that its result depends on.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "launcher/workflow/fingerprint.h"
#include "launcher/workflow/workflow.h"

namespace slipway::launcher {

/// What a key is made of: "command" -> its words, "file train.py" -> its content, "step prepare" -> the id of its
/// result. Sorted by name.
using KeyParts = std::vector<std::pair<std::string, std::string>>;

/// The parts of the key of a step. `result_of` gives the id of the result of a step that it needs.
/// Rules: a reference counts as it is written, together with the results of the step that it names. So keys are known
/// before anything has run. Resources, limits, retries and `when` change no result and are left out.
/// Errors: SystemError when a file cannot be read.
KeyParts KeyPartsOf(const Workflow& workflow, StepIndex step,
                    const std::function<std::string(StepIndex needed)>& result_of, Fingerprints& files);

/// 64 hexadecimal digits.
std::string KeyOf(const KeyParts& parts);

/// "file train.py has changed", "step prepare has another result"; empty when all parts are equal.
std::vector<std::string> WhatChanged(const KeyParts& before, const KeyParts& now);

}  // namespace slipway::launcher
