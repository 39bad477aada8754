#include "launcher/run/workflow/step_end.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <optional>

#include "core/documents.h"
#include "core/files.h"
#include "core/filesystem_errors.h"
#include "launcher/run/workflow/step_values.h"

namespace slipway::launcher {
namespace {

namespace fs = std::filesystem;

constexpr const char* kPage = "report.html";

/// The reason that the run itself has recorded says more than the exit status of its manager.
std::string ReasonOfRun(const fs::path& run_folder) try {
  const auto state = RunFolder::Open(run_folder).ReadState();
  return state.reason.empty() ? std::string()
                              : fmt::format("{} (run {})", state.reason, run_folder.filename().string());
} catch (const Error& error) {
  return error.message();
}

std::string EndText(const Step& step, const StepEnd& end, const StepOutcomePlace& place) {
  if (end.timed_out) return fmt::format("it reached its time limit of {}", FormatDuration(*step.time_limit));
  const auto reason = place.run_folder.empty() ? std::string() : ReasonOfRun(place.run_folder);
  return reason.empty() ? fmt::format("{}; see {}", end.status.Describe(), place.place.log().string()) : reason;
}

/// The rest of a path that begins with the folder.
std::optional<fs::path> RestBelow(const fs::path& folder, const fs::path& path) {
  if (!BeginsWith(path, folder)) return {};
  return path.lexically_relative(folder);
}

void ReplaceLink(const fs::path& link, const fs::path& target) {
  const auto made = fs::path(link) += ".slipway-new";
  fs::remove(made);  // of an attempt that was killed
  fs::create_symlink(target, made);
  fs::rename(made, link);
}

}  // namespace

bool IsQueued(const fs::path& run_folder) try {
  return RunFolder::Open(run_folder).ReadState().phase == Phase::kQueued;
} catch (const Error&) {
  return false;  // the reason of its end says more
}

bool WaitWasKilled(const StepEnd& end, const PreparedStep& prepared) {
  return prepared.adopted && end.status.signal != 0 && !end.timed_out;
}

StepEnd EndOfItsRun(const StepEnd& end, const PreparedStep& prepared) {
  if (!WaitWasKilled(end, prepared)) return end;
  const auto phase = RunFolder::Open(prepared.run_folder).ReadState().phase;
  return phase == Phase::kSucceeded ? StepEnd{end.step, ExitStatus{}, false} : end;
}

std::string WhyFailed(const Step& step, const StepEnd& end, const StepOutcomePlace& place) {
  if (!end.status.Success() || end.timed_out) return EndText(step, end, place);
  for (const auto& [name, path] : OutputPaths(step, place.place.outputs())) {
    if (const auto kind = OtherKindOf(path); !kind.empty()) {
      return fmt::format("output '{}' is {}; outputs are files and folders", name, kind);
    }
    if (Exists(path)) continue;
    return fmt::format("output '{}' was not written: the program finds its path in ${{outputs.{}}}", name, name);
  }
  return {};
}

void MakeOwnLinksRelative(const fs::path& outputs) {
  if (!IsDirectory(outputs)) return;
  WithSystemErrors([&] {
    const auto canonical = fs::canonical(outputs);  // a program may have resolved the path
    for (const auto& entry : EntriesBelow(outputs)) {
      if (!entry.is_symlink()) continue;
      const auto target = fs::read_symlink(entry.path());
      auto inside = RestBelow(outputs, target);
      if (!inside) inside = RestBelow(canonical, target);
      if (inside) ReplaceLink(entry.path(), outputs.lexically_relative(entry.path().parent_path()) / *inside);
    }
  });
}

StepResult ResultOfStep(const Step& step, const StepOutcomePlace& place) {
  StepResult result;
  result.step = step.name;
  result.run_folder = place.run_folder;
  for (const auto& [name, path] : step.outputs) {
    result.outputs[name] = {path, StampOfTree(place.place.outputs() / path)};
  }
  switch (step.kind()) {
    case StepKind::kCommand: result.values = ValuesOfMetrics(place.place.metrics()); break;
    case StepKind::kExperiment: result.values = ValuesOfRun(RunFolder::Open(place.run_folder)); break;
    case StepKind::kEnsemble: result.values = ValuesOfEnsemble(RunFolder::Open(place.run_folder)); break;
    case StepKind::kReport: result.outputs["page"] = {kPage, StampOfTree(place.place.outputs() / kPage)}; break;
    case StepKind::kData: break;
  }
  return result;
}

std::optional<ChangedInput> FindChangedInput(const Step& step, const std::map<std::string, std::string>& stamps,
                                             WallTime started) {
  for (const auto& [name, value] : step.inputs) {
    if (value.find("${") != std::string::npos) continue;
    const auto look = LookAtTree(value);
    if (look.stamp == stamps.at(value)) continue;
    return ChangedInput{name,
                        fmt::format("input '{}' changed while it ran, so its result is not kept: {}", name, value),
                        look.changed && *look.changed < started};
  }
  return {};
}

}  // namespace slipway::launcher
