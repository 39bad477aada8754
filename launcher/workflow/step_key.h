/// The key of a step: a name for all that its result depends on.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "launcher/workflow/fingerprint.h"
#include "launcher/workflow/workflow.h"

namespace slipway::launcher {

/// What a key is made of: "command" -> its words, "file train.py" -> its content, "step prepare" -> the id of its
/// result. Sorted by name.
using KeyParts = std::vector<std::pair<std::string, std::string>>;

/// A git work tree as keys hold it.
struct CodeState {
  std::string commit;
  std::map<std::string, std::string> edited;      ///< tracked file that differs from the commit -> its content now
  std::map<std::string, std::string> submodules;  ///< path -> commit
  std::vector<std::filesystem::path> untracked;   ///< programs of steps that git does not know
};

/// Where the key of a step takes what it does not know itself.
struct KeySources {
  std::function<std::string(StepIndex needed)> result_of;   ///< id of the result of a step that it needs
  std::function<const CodeState&(StepIndex step)> code_of;  ///< of steps with `code: git`
};

/// The files that the command of a step names, below the folder that it starts from: programs of the user.
std::vector<std::filesystem::path> ProgramFilesOf(const Workflow& workflow, const Step& step);
/// Where they are looked for: the folder of the workflow, or of the spec.
const std::filesystem::path& ProgramFolderOf(const Workflow& workflow, const Step& step);

/// A source of data of an experiment.
struct DataSource {
  std::string written;                       ///< as in the spec
  std::vector<std::filesystem::path> files;  ///< that it names now
};
/// Without those that are results of other steps. Errors: SystemError when a folder cannot be read.
std::vector<DataSource> DataSourcesOf(const Workflow& workflow, const Step& step);

/// The files and folders of the user that the key of a step is made of: programs, `files`, inputs and data. With
/// `code: git` also programs that git tracks. Errors: as DataSourcesOf.
std::vector<std::filesystem::path> FilesInKey(const Workflow& workflow, const Step& step);

/// The parts of the key of a step.
/// Rules: a reference counts as it is written, together with the results of the step that it names. So keys are known
/// before anything has run. Resources, limits, retries and `when` change no result and are left out.
/// Errors: SystemError when a file cannot be read; those of `code_of`.
KeyParts KeyPartsOf(const Workflow& workflow, StepIndex step, const KeySources& sources, Fingerprints& files);

/// 64 hexadecimal digits.
std::string KeyOf(const KeyParts& parts);

/// "file train.py has changed", "step prepare has another result", "commit a1b2c3d became d4e5f6a"; empty when all
/// parts are equal.
std::vector<std::string> WhatChanged(const KeyParts& before, const KeyParts& now);

}  // namespace slipway::launcher
