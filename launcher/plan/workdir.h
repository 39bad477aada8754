/// The folder that ranks work in, and how a command finds from there what lies beside its spec.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "core/json.h"
#include "launcher/plan/training_command.h"

namespace slipway::launcher {

struct Plan;

/// Of the run or trial in `place`; every attempt goes on in the same. Pure.
std::filesystem::path WorkdirOf(const Plan& plan, const AttemptPlace& place, const TrialTerms& terms);

/// What the command and its environment are told of where they run. Pure.
CommandPlace CommandPlaceOf(const Plan& plan, const AttemptPlace& place, const TrialTerms& terms);

/// What a working directory has beside what programs write into it (`launch.files`).
struct WorkdirLink {
  std::filesystem::path name;    ///< relative: as beside the spec, else the last part of the target's name
  std::filesystem::path target;  ///< absolute
};
/// None where ranks work in the spec's folder. Cost: looks for the files.
std::vector<WorkdirLink> LinksOf(const Plan& plan);

/// The words of a rank's command. Where ranks work elsewhere a word, or what stands behind a '=' in it, that names a
/// file beside the spec becomes the absolute path of that; of a folder only when it is written with a '/'. What
/// `launch.files` lists has a link, and its name stays.
/// Cost: looks for each word.
std::vector<std::string> ProgramCommand(const Plan& plan, const AttemptPlace& place, const Json& parameters,
                                        const TrialTerms& terms);

/// The files and folders beside the spec that such words name, relative to it: every trial has the same.
std::vector<std::filesystem::path> NamedBesideSpec(const Plan& plan, const Json& parameters);

/// Makes the folder and its links; what is there already stays. Errors: SystemError.
void MakeWorkdir(const Plan& plan, const AttemptPlace& place, const TrialTerms& terms);

}  // namespace slipway::launcher
