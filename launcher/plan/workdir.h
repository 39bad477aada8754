/// The working directory of ranks, and how a command finds files beside its spec from there.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "core/json.h"
#include "launcher/plan/training_command.h"

namespace slipway::launcher {

struct Plan;

/// Of the run or trial, in its folder.
inline constexpr std::string_view kOwnWorkdir = "work";

/// The working directory of the run or trial in `place`; the same for every attempt. Pure.
std::filesystem::path WorkdirOf(const Plan& plan, const AttemptPlace& place, const TrialTerms& terms);

/// The values that depend on where the command runs, and on where its data lies. Pure.
CommandPlace CommandPlaceOf(const Plan& plan, const StagedDirectories& data, const AttemptPlace& place,
                            const TrialTerms& terms);

/// A link in a working directory to a file in `launch.files`.
struct WorkdirLink {
  std::filesystem::path name;    ///< relative: as beside the spec, else the last part of the target's name
  std::filesystem::path target;  ///< absolute
};
/// The links; none where ranks work in the spec's folder. Cost: looks for the files.
std::vector<WorkdirLink> LinksOf(const Plan& plan);

/// The words of a rank's command. Where ranks work outside the spec's folder, words that name a file beside the spec
/// become its absolute path. The part after a '=' in a word counts, too. A folder must be written with a '/'. Names in
/// `launch.files` stay, because they have links.
/// Cost: looks for each word.
std::vector<std::string> ProgramCommand(const Plan& plan, const StagedDirectories& data, const AttemptPlace& place,
                                        const Json& parameters, const TrialTerms& terms);

/// The files and folders beside the spec that words of the command name, relative to it, wherever ranks work.
/// Needs the plan's document only. Cost: looks for each word.
std::vector<std::filesystem::path> FilesOfCommand(const Plan& plan, const Json& parameters);

/// The same where ranks work outside the spec's folder, else none. All trials share them.
std::vector<std::filesystem::path> NamedBesideSpec(const Plan& plan, const Json& parameters);

/// Makes the folder and its links; existing files stay. Errors: SystemError.
void MakeWorkdir(const Plan& plan, const AttemptPlace& place, const TrialTerms& terms);

}  // namespace slipway::launcher
