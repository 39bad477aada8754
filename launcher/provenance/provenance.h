/// Where the results of a run come from: code, programs, machine, data. `slipway.provenance/1`, the file
/// provenance.json of a run folder.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/json.h"
#include "launcher/provenance/host_facts.h"

namespace slipway::launcher {

/// A file that is not in the diff, or only by name.
struct FileLeftOut {
  std::string path;
  std::uint64_t bytes = 0;
  std::string reason;
};

struct SubmoduleState {
  std::string path;
  std::optional<std::string> commit;
  std::optional<bool> is_dirty;
};

/// The git repository that holds the program. Without `commit`, `not_recorded` says why; with it, what is missing.
struct RepositoryState {
  std::string repository;  ///< its working tree
  std::optional<std::string> commit;
  std::optional<std::string> branch;  ///< nothing: HEAD is detached
  std::string description;            ///< as `git describe --tags` has it
  std::optional<bool> is_dirty;
  std::string diff;  ///< of tracked files against the commit; `git apply` reads it
  std::vector<FileLeftOut> diff_left_out;
  std::uint64_t diff_left_out_more = 0;  ///< that are not even named
  std::vector<std::string> untracked;    ///< a folder stands for all in it
  std::uint64_t untracked_more = 0;
  std::vector<SubmoduleState> submodules;
  std::string not_recorded;
};

/// A file that the command names.
struct ProgramFile {
  std::string path;
  std::uint64_t bytes = 0;
  std::string crc32c;
};

struct DataState {
  std::string name;
  std::string fingerprint;  ///< of names, sizes and times of change
  std::uint64_t files = 0;
  std::uint64_t bytes = 0;
};

struct PythonFacts {
  std::string executable;
  std::string version;
  std::map<std::string, std::string> packages;  ///< installed where that Python looks for modules
};

struct ContainerFacts {
  std::string image;
  std::string runtime;
  std::string digest;  ///< "sha256:...", "sif:<its id>"; empty: it could not be read
  std::uint64_t bytes = 0;
  double modified = 0;  ///< seconds since 1970; 0: no file
};

struct Provenance {
  double time = 0;      ///< when it was recorded; seconds since 1970
  std::string command;  ///< of Slipway, as a shell reads it
  std::string directory;
  RepositoryState code;
  std::vector<ProgramFile> files;
  std::map<std::string, std::string> versions;  ///< "slipway", "mpi", "python", "glibc", "linux"
  std::optional<PythonFacts> python;
  std::vector<std::string> modules;
  std::map<std::string, std::string> environment;  ///< variables that change what programs compute
  std::optional<ContainerFacts> container;
  std::vector<HostFacts> hosts;
  std::vector<DataState> data;
  std::vector<std::string> warnings;  ///< what could not be read
};

/// The document. The members of `code` stand beside the others.
Json ToJson(const Provenance& provenance);
/// Missing members keep their defaults. Errors: DocumentError for another schema or a member of a wrong type.
Provenance ProvenanceFromJson(const Json& document);
/// The members of a repository alone. Errors: as ProvenanceFromJson.
RepositoryState RepositoryStateFromJson(const Json& members);

}  // namespace slipway::launcher
