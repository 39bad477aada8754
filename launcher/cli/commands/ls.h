/// `slipway ls`: finds runs. `slipway tag`: what they are found by.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "launcher/cli/commands/session.h"

namespace slipway::launcher {

/// Filters combine: a run is listed when it fits all of them.
struct LsOptions {
  int limit = 20;
  std::vector<std::string> tags;
  std::string states;  ///< separated by commas; empty: any
  std::string name;    ///< a pattern of glob(7) for the name or the id; without * ? [ a part of the id
  std::string since;   ///< a duration before now, or a date such as 2026-11-25; empty: ever
  std::string sort = "created";
  std::string metric;  ///< of single runs, for `sort` best; empty: `loss`, or their only one
  bool reverse = false;
};
/// Errors: Error(kUsage) for a word that is none of the valid ones, with the nearest.
int Ls(const LsOptions& options, Session& session);

struct TagOptions {
  std::string run;
  std::vector<std::string> added;  ///< "TAG" or "+TAG"; without any change the tags are only shown
  std::vector<std::string> removed;
  std::optional<std::string> description;
};
/// Errors: Error(kUsage) for what is no tag, or a tag to remove that the run does not have.
int Tag(const TagOptions& options, Session& session);

}  // namespace slipway::launcher
