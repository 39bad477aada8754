/// Findings, for the tests of `doctor`.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "launcher/cli/doctor/finding.h"

namespace slipway::launcher {

/// The finding about `about`; a failure when there is none.
inline Finding About(const Findings& findings, const std::string& about) {
  for (const auto& finding : findings) {
    if (finding.about == about) return finding;
  }
  ADD_FAILURE() << "nothing about " << about << " in\n" << Describe(findings);
  return {};
}

}  // namespace slipway::launcher
