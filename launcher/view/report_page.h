/// The page of `slipway report` and `slipway serve`: one HTML file that loads nothing from elsewhere.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "launcher/run_folder/run_folder.h"
#include "launcher/view/run_view.h"

namespace slipway::launcher {

inline constexpr const char* kReportName = "report.html";

/// The runs with their data. It opens from a file, and is readable without JavaScript.
std::string ReportPage(const std::vector<RunView>& runs, double made);

/// Reads the run and writes its report into its folder, as report.html; returns its path. Errors: those of RunFolder,
/// and SystemError when it cannot be written.
std::filesystem::path WriteReport(const RunFolder& folder);

/// Without data: the page asks the server that it came from.
std::string LivePage();

}  // namespace slipway::launcher
