/// `slipway trials plot`: plots of an ensemble as SVG files, and a page with all of them.
#pragma once

#include <filesystem>

namespace slipway {
class Output;
}

namespace slipway::launcher {

struct TrialsPlotOptions {
  std::filesystem::path run_folder;
  std::filesystem::path out;  ///< empty: plots/ in the run folder
};

/// Writes these files and replaces existing ones:
/// - history.svg, with the best value so far;
/// - importance.svg, from ten trials on;
/// - parallel.svg, and slice-N.svg for each parameter;
/// - front.svg, of the first two of several objectives;
/// - index.html.
///
/// JSON: `slipway.trials.plot/1`.
/// Errors: those of OpenTrials; kUsage when no trial is complete; SystemError.
int TrialsPlot(const TrialsPlotOptions& options, Output& output);

}  // namespace slipway::launcher
