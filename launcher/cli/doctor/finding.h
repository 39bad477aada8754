/// One line of `slipway doctor`: what was found, what it means, and what to do about it.
#pragma once

#include <string>
#include <vector>

#include "core/json.h"
#include "core/words.h"

namespace slipway::launcher {

/// kFail: runs will fail or ignore the settings. kWarn: some runs will fail, or be slower than possible.
enum class Grade { kOk, kWarn, kFail };

WordTable<Grade> WordsOf(Grade);

struct Finding {
  Grade grade = Grade::kOk;
  std::string about;   ///< "mpirun", "tier ram"
  std::string text;    ///< one line
  std::string remedy;  ///< empty when there is nothing to do

  bool operator==(const Finding&) const = default;
};
using Findings = std::vector<Finding>;

Finding Ok(std::string about, std::string text);
Finding Warn(std::string about, std::string text, std::string remedy);
Finding Fail(std::string about, std::string text, std::string remedy);

/// The worst grade among the findings.
Grade WorstOf(const Findings& findings);

Json ToJson(const Findings& findings);
/// Errors: Error(kInternal) for anything but a list of findings.
Findings FindingsFromJson(const Json& document);

/// A line for each, with its remedy below it.
std::string Describe(const Findings& findings);

}  // namespace slipway::launcher
