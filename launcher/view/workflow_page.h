/// The page of a workflow's run: its graph as a picture, and its steps with links to what they have left.
#pragma once

#include <filesystem>
#include <functional>
#include <string>

#include "launcher/run/workflow/workflow_status.h"

namespace slipway::launcher {

/// Where a step leads: name and address. Empty addresses are left out.
struct PageLink {
  std::string text;
  std::string address;
};

struct WorkflowPageOptions {
  /// What the row of a step links to. `run`: the run of the step, also one that it reuses; empty: it has none.
  std::function<std::vector<PageLink>(const StepRow& row, const std::filesystem::path& run)> links;
  /// The browser asks for the page again while the run goes on.
  bool follows = false;
};

/// One HTML file without scripts that loads nothing from elsewhere.
/// Cost: reads the manifest of each result.
std::string WorkflowPage(const RunFolder& folder, const WorkflowLook& look, const WorkflowPageOptions& options);

/// Links to files of the run, relative to `directory`: log, report of its run, page that it has made.
std::vector<PageLink> FileLinks(const RunFolder& folder, const StepRow& row, const std::filesystem::path& run,
                                const std::filesystem::path& directory);

}  // namespace slipway::launcher
