#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>

#include "core/documents.h"
#include "core/files.h"
#include "core/nearest_word.h"
#include "launcher/workflow/check_references.h"
#include "launcher/workflow/fingerprint.h"

namespace slipway::launcher {
namespace {

namespace fs = std::filesystem;

/// An output of a group.
struct Writer {
  std::string group;
  std::string output;
  bool operator==(const Writer&) const = default;
};

/// Whether a path names something inside of the folder that it starts from.
bool StaysInside(const fs::path& path) {
  const auto normal = path.lexically_normal();
  return !path.empty() && path.is_relative() && normal != "." && !normal.string().starts_with("..");
}

bool IsName(std::string_view name) {
  static constexpr std::string_view kFirst = "abcdefghijklmnopqrstuvwxyz";
  static constexpr std::string_view kAll = "abcdefghijklmnopqrstuvwxyz0123456789_";
  return !name.empty() && name.size() <= 64 && kFirst.find(name[0]) != std::string_view::npos &&
         name.find_first_not_of(kAll) == std::string_view::npos;
}

class FileLinker {
 public:
  FileLinker(Workflow& workflow, const FieldPlaces& place_of, Report& report)
      : workflow_(workflow), place_of_(place_of), report_(report) {}

  void Link() {
    for (StepIndex step = 0; step < workflow_.steps.size(); ++step) CheckNames(step);
    for (StepIndex step = 0; step < workflow_.steps.size(); ++step) TakeOutputs(step);
    for (StepIndex step = 0; step < workflow_.steps.size(); ++step) LinkInputs(step);
  }

 private:
  void CheckNames(StepIndex index) {
    const auto& step = workflow_.steps[index];
    for (const auto& [what, values] : {std::pair("inputs", &step.inputs), std::pair("outputs", &step.outputs)}) {
      for (const auto& [name, value] : *values) {
        if (IsName(name)) continue;
        report_.Error(
            place_of_(index, fmt::format("{}.{}", what, name)),
            fmt::format("the names of {} are made of small letters, digits and '_', not {}", what, Quoted(name)));
      }
    }
  }

  void TakeOutputs(StepIndex index) {
    const auto& outputs = workflow_.steps[index].outputs;
    for (auto output = outputs.begin(); output != outputs.end(); ++output) {
      const auto place = [&] { return place_of_(index, "outputs." + output->first); };
      if (!StaysInside(output->second)) {
        report_.Error(place(), fmt::format("output '{}' is {}: give a name within the step's own folder", output->first,
                                           Quoted(output->second)));
        continue;
      }
      if (HasWildcard(output->second)) {
        report_.Error(place(), fmt::format("output '{}' is {}: give a name, not a pattern; for several files, a folder",
                                           output->first, Quoted(output->second)));
        continue;
      }
      const auto path = fs::path(output->second).lexically_normal();
      for (auto other = outputs.begin(); other != output; ++other) {
        const auto before = fs::path(other->second).lexically_normal();
        if (!BeginsWith(before, path) && !BeginsWith(path, before)) continue;
        report_.Error(place(), fmt::format("outputs '{}' and '{}' overlap: {} and {}", other->first, output->first,
                                           Quoted(other->second), Quoted(output->second)));
      }
      NoteWriter(path.string(), {workflow_.steps[index].group, output->first});
    }
  }

  void NoteWriter(const std::string& path, const Writer& writer) {
    auto& writers = writers_[(workflow_.directory / path).lexically_normal().string()];
    if (std::ranges::find(writers, writer) == writers.end()) writers.push_back(writer);
  }

  void LinkInputs(StepIndex index) {
    auto& step = workflow_.steps[index];
    for (auto& [name, value] : step.inputs) {
      if (value.find("${") == std::string::npos) LinkInput(index, name, value);
    }
  }

  /// What other steps write; nothing where it takes too long to look for.
  std::string NearestOutput(const std::string& value, const std::string& group) const {
    if (value.size() >= 256 || writers_.size() >= 2000) return {};
    std::vector<std::string> paths;
    for (const auto& [path, writers] : writers_) {
      if (std::ranges::any_of(writers, [&](const Writer& writer) { return writer.group != group; })) {
        paths.push_back(path);
      }
    }
    return NearestWord(value, paths);
  }

  void LinkInput(StepIndex index, const std::string& name, std::string& value) {
    const auto& group = workflow_.steps[index].group;
    const auto place = [&] { return place_of_(index, "inputs." + name); };
    if (const auto kind = OtherKindOf(value); !kind.empty()) {
      return report_.Error(place(), fmt::format("input '{}' is {}; inputs are files and folders", name, kind));
    }
    if (Exists(value)) return;
    const auto writers = writers_.find(value);
    if (writers == writers_.end()) {
      report_.Error(place(), fmt::format("input '{}': {} does not exist, and no step writes it", name, Quoted(value)),
                    NearestOutput(value, group));
    } else if (writers->second.size() > 1) {
      const auto& all = writers->second;
      report_.Error(place(), fmt::format("input '{0}': steps '{1}' and '{2}' both write it; choose one: "
                                         "${{steps.{1}.outputs.{3}}}",
                                         name, all[0].group, all[1].group, all[0].output));
    } else {
      const auto& writer = writers->second.front();
      value = fmt::format("${{steps.{}.outputs.{}}}", writer.group, writer.output);
    }
  }

  Workflow& workflow_;
  const FieldPlaces& place_of_;
  Report& report_;
  std::map<std::string, std::vector<Writer>> writers_;  ///< by the path as an input would name it
};

}  // namespace

void LinkFiles(Workflow& workflow, const FieldPlaces& place_of, Report& report) {
  FileLinker(workflow, place_of, report).Link();
}

}  // namespace slipway::launcher
