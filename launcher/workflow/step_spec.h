/// The spec of a step that is an experiment or an ensemble.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "launcher/spec/source.h"
#include "launcher/spec/yaml_tree.h"
#include "launcher/workflow/workflow.h"

namespace slipway::launcher {

/// What the spec is made of, weakest first.
struct StepSpecSources {
  std::string step;     ///< the name of the spec, where it has none
  Place place;          ///< of the step
  YamlNode experiment;  ///< a spec, or the path of one
  YamlNode defaults;
  std::vector<YamlNode> set;  ///< maps of dotted paths to values
};

/// The step's work, with the references of its spec as they are. What is wrong with the spec is reported; values with
/// references are taken as unknown.
Work ReadSpecOfStep(StepSpecSources made_of, Sources& sources, Report& report);

/// A spec as YAML text.
std::string YamlOf(const YamlNode& node);

}  // namespace slipway::launcher
