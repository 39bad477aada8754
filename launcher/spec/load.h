/// Reads a spec: the file, the settings below it and the overrides above it become one checked document.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/error.h"
#include "core/json.h"
#include "launcher/spec/changes.h"
#include "launcher/spec/spec.h"

namespace slipway::launcher {

/// One remark on a place in a source.
struct Diagnostic {
  std::string file;  ///< as the user named it; "--set" for an override
  int line = 0;      ///< from 1; 0 = the file as a whole
  int column = 0;    ///< from 1, in characters
  std::string message;
  std::string source_line;
  int length = 1;          ///< characters to underline
  std::string suggestion;  ///< the nearest valid key or word, or empty
  std::string field = {};  ///< dotted path of the value, where it is known
};

/// "file:line:column: error: message", the line, a caret, "did you mean 'x'?". `severity` is "error", "warning" or
/// empty (for a warning that goes through Output::Warn, which writes the word itself).
std::string RenderDiagnostic(const Diagnostic& diagnostic, std::string_view severity);
Json DiagnosticToJson(const Diagnostic& diagnostic);

/// Everything that is wrong with a spec, in the order of the text.
class SpecError : public Error {
 public:
  explicit SpecError(std::vector<Diagnostic> diagnostics, ErrorKind kind = ErrorKind::kUsage);
  const std::vector<Diagnostic>& diagnostics() const { return diagnostics_; }
  void AddToDocument(Json& document) const override;

 private:
  std::vector<Diagnostic> diagnostics_;
};

struct SpecDocument {
  Spec spec;
  /// Why `auto` became this `launch.engine` in `spec`; empty when the file names an engine.
  std::string engine_reason;
  std::vector<Diagnostic> warnings;  ///< render with "warning"; fields that this version ignores
  /// Every field with its value, nested as in the spec; durations in seconds, sizes in bytes, paths absolute.
  std::shared_ptr<const Json> resolved;
  /// Dotted path -> source of its value: "fashion.yaml:12", "--set", "default", "/etc/slipway/site.yaml:3".
  std::map<std::string, std::string> origins;
  /// Places of values, for errors found later: dotted path -> a Diagnostic without message.
  std::map<std::string, Diagnostic> places;
  std::string source;                ///< the text of the spec file, as it is kept in the run folder
  std::filesystem::path file;        ///< as given
  std::filesystem::path directory;   ///< absolute; relative paths and a command's relative program start here
  std::string spec_hash;             ///< 16 hex digits over `resolved`
  std::vector<FieldChange> changes;  ///< relative to the spec of the run's start or last resume
};

/// $XDG_CONFIG_HOME/slipway, else ~/.config/slipway; empty without a home.
std::filesystem::path UserSettingsDirectory();

/// The settings files that exist, weakest first:
/// - /etc/slipway/site.yaml, or the file in $SLIPWAY_SITE, which must exist;
/// - $XDG_CONFIG_HOME/slipway/config.yaml;
/// - ./slipway.yaml, if no other user can have written it.
///
/// They hold the same fields except `name`, `description`, `tags`, `data`, `train` and `ensemble`.
std::vector<std::filesystem::path> SettingsFiles();

/// `overrides` are `KEY=VALUE`: a dotted path and a YAML value; relative paths in them start at the working directory.
/// Errors: SpecError with all diagnostics of the files and overrides; kEnvironment when the file cannot be read.
SpecDocument LoadSpec(const std::filesystem::path& path, const std::vector<std::string>& overrides = {});
SpecDocument LoadSpec(const std::filesystem::path& path, const std::vector<std::string>& overrides,
                      const std::vector<std::filesystem::path>& settings);

/// The spec of a run that continues, with overrides on top. `run` is the spec in its plan.json, `kind` what may change
/// in it. `changes` lists the differences. Settings files are not read.
/// Errors: SpecError with all diagnostics of the overrides, also for changes that such a run does not allow (WhyFixed).
SpecDocument ChangeSpec(const SpecDocument& run, const std::vector<std::string>& overrides, RunKind kind);

/// The storage section of the settings files, for commands without a spec. Each tier's origin is its place in a file.
/// Errors: as LoadSpec.
SiteSpec LoadSite(const std::vector<std::filesystem::path>& settings);

/// The tiers of a spec's site with their origins.
std::vector<staging::TierDefinition> SiteTiersOf(const SpecDocument& document);

/// The same part of `resolved` as a typed value. Errors: kInternal.
SiteSpec BuildSite(const Json& resolved);

/// The typed form of `resolved`, as it is stored in plan.json. Errors: kInternal when it is not one.
Spec BuildSpec(const Json& resolved);

/// The place of the value at a dotted path, or of what is around it; without a message.
Diagnostic PlaceOfField(const SpecDocument& document, std::string path);

/// What looks like a mistake on this machine and may be meant: words of the command that name no file beside the spec,
/// and more ranks than the cores can carry. LoadSpec and ChangeSpec add it to the warnings.
/// Cost: looks for each word of the command.
std::vector<Diagnostic> RemarksOnEnvironment(const SpecDocument& document);

/// What the machine lacks to run this spec: data, programs, mpirun, writable tiers, the engine. Kind kEnvironment for
/// each; empty when nothing is missing. Cost: one directory listing for each data source.
std::vector<Diagnostic> ValidateEnvironment(const SpecDocument& document);
/// Throws SpecError for an option that the bundled trainer does not have (kUsage), or for what ValidateEnvironment
/// finds.
void RequireEnvironment(const SpecDocument& document);

/// The text of a YAML file that the command line names; `what` is "spec" or similar.
/// Errors: kUsage when there is no such file, or it is none of that size.
std::string ReadYamlFile(const std::filesystem::path& path, const std::string& what);

/// A spec that a workflow has written: its references were replaced, and its relative paths start at `directory`.
SpecDocument LoadWrittenSpec(const std::filesystem::path& path, const std::filesystem::path& directory);
/// The same for a text without a file; messages call it `name`.
SpecDocument LoadSpecText(std::string text, const std::filesystem::path& name, const std::filesystem::path& directory);

}  // namespace slipway::launcher
