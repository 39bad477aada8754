/// The values of a step that may hold references.
#pragma once

#include <functional>
#include <string>

#include "launcher/workflow/workflow.h"

namespace slipway::launcher {

/// Where a text stands: a list of several values fits only a word of a command, as a whole.
enum class TextUse { kWord, kText, kCondition };

/// Calls `take` for each: `field` is its path in the step, such as "command[1]". Texts in specs are not among them.
void ForEachText(const Step& step,
                 const std::function<void(const std::string& field, const std::string& text, TextUse use)>& take);

/// The spec of an experiment or ensemble; null: the step has none.
const YamlNode* SpecOf(const Step& step);

}  // namespace slipway::launcher
