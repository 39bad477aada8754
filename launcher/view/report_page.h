/// The page of `slipway report` and `slipway serve`: one HTML file that loads nothing from elsewhere.
#pragma once

#include <string>
#include <vector>

#include "launcher/view/run_view.h"

namespace slipway::launcher {

/// The runs with their data. It opens from a file, and is readable without JavaScript.
std::string ReportPage(const std::vector<RunView>& runs, double made);

/// Without data: the page asks the server that it came from.
std::string LivePage();

}  // namespace slipway::launcher
