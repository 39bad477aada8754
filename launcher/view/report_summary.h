/// The part of a report that needs no JavaScript: what happened, in tables.
#pragma once

#include <string>
#include <vector>

#include "launcher/view/run_view.h"

namespace slipway::launcher {

/// HTML: for each run its state, result, attempts, best trials, failures and accounting.
std::string SummaryHtml(const std::vector<RunView>& runs);

}  // namespace slipway::launcher
