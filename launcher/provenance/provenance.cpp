#include "launcher/provenance/provenance.h"

#include <nlohmann/json.hpp>

#include "core/json_fields.h"

namespace slipway::launcher {

namespace {

constexpr auto kSchema = "slipway.provenance/1";
constexpr auto kMaybe = Presence::kOptional;

}  // namespace

template <class Visitor, MaybeConst<FileLeftOut> Struct>
void Visit(Visitor& visit, Struct& file) {
  visit("path", file.path);
  visit("bytes", file.bytes);
  visit("reason", file.reason);
}

template <class Visitor, MaybeConst<SubmoduleState> Struct>
void Visit(Visitor& visit, Struct& submodule) {
  visit("path", submodule.path);
  visit("commit", submodule.commit);
  visit("is_dirty", submodule.is_dirty);
}

template <class Visitor, MaybeConst<ProgramFile> Struct>
void Visit(Visitor& visit, Struct& file) {
  visit("path", file.path);
  visit("bytes", file.bytes);
  visit("crc32c", file.crc32c);
}

template <class Visitor, MaybeConst<DataState> Struct>
void Visit(Visitor& visit, Struct& data) {
  visit("name", data.name);
  visit("fingerprint", data.fingerprint);
  visit("files", data.files);
  visit("bytes", data.bytes);
}

template <class Visitor, MaybeConst<PythonFacts> Struct>
void Visit(Visitor& visit, Struct& python) {
  visit("executable", python.executable);
  visit("version", python.version);
  visit("packages", python.packages);
}

template <class Visitor, MaybeConst<ContainerFacts> Struct>
void Visit(Visitor& visit, Struct& container) {
  visit("image", container.image);
  visit("runtime", container.runtime);
  visit("digest", container.digest);
  visit("bytes", container.bytes);
  visit("modified", container.modified);
}

template <class Visitor, MaybeConst<HostFacts> Struct>
void Visit(Visitor& visit, Struct& host) {
  visit("host", host.host);
  visit("cpu", host.cpu);
  visit("cpus", host.cpus);
  visit("memory_bytes", host.memory_bytes);
  visit("gpus", host.gpus);
}

namespace {

template <class Visitor, class Struct>
void VisitCode(Visitor& visit, Struct& code) {
  visit("repository", code.repository, kMaybe);
  visit("commit", code.commit, kMaybe);
  visit("branch", code.branch, kMaybe);
  visit("description", code.description, kMaybe);
  visit("is_dirty", code.is_dirty, kMaybe);
  visit("diff", code.diff, kMaybe);
  visit("diff_left_out", code.diff_left_out, kMaybe);
  visit("diff_left_out_more", code.diff_left_out_more, kMaybe);
  visit("untracked", code.untracked, kMaybe);
  visit("untracked_more", code.untracked_more, kMaybe);
  visit("submodules", code.submodules, kMaybe);
  visit("not_recorded", code.not_recorded, kMaybe);
}

}  // namespace

template <class Visitor, MaybeConst<RepositoryState> Struct>
void Visit(Visitor& visit, Struct& code) {
  VisitCode(visit, code);
}

template <class Visitor, MaybeConst<Provenance> Struct>
void Visit(Visitor& visit, Struct& provenance) {
  visit("time", provenance.time, kMaybe);
  visit("command", provenance.command, kMaybe);
  visit("directory", provenance.directory, kMaybe);
  VisitCode(visit, provenance.code);
  visit("files", provenance.files, kMaybe);
  visit("versions", provenance.versions, kMaybe);
  visit("python", provenance.python, kMaybe);
  visit("modules", provenance.modules, kMaybe);
  visit("environment", provenance.environment, kMaybe);
  visit("container", provenance.container, kMaybe);
  visit("hosts", provenance.hosts, kMaybe);
  visit("data", provenance.data, kMaybe);
  visit("warnings", provenance.warnings, kMaybe);
}

Json ToJson(const Provenance& provenance) { return WriteFields(kSchema, provenance); }

Provenance ProvenanceFromJson(const Json& document) {
  const DocumentName name{"provenance.json", ErrorKind::kEnvironment};
  if (!document.is_object() || document.value("schema", Json()) != kSchema) {
    throw DocumentError(ErrorKind::kEnvironment, "provenance.json is not of this version of Slipway, or damaged",
                        "use the version of Slipway that made the run");
  }
  return ReadFields<Provenance>(document, name);
}

RepositoryState RepositoryStateFromJson(const Json& members) {
  return ReadFields<RepositoryState>(members, {"the answer of slipway-git", ErrorKind::kInternal});
}

}  // namespace slipway::launcher
