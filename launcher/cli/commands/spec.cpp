#include "launcher/cli/commands/spec.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <nlohmann/json.hpp>

#include "core/text.h"
#include "launcher/cli/commands/workflow.h"
#include "launcher/spec/choose_engine.h"
#include "launcher/spec/describe_fields.h"
#include "launcher/spec/load.h"
#include "launcher/workflow/is_workflow_file.h"
#include "launcher/workflow/workflow_schema.h"

namespace slipway::launcher {
namespace {

/// Completes the command; behind it its own commands, else files; after a dash its options; after --set the fields of
/// the spec, after --on hosts. Also read by zsh, which has no compopt.
constexpr std::string_view kBash = R"(_slipway() {{
  local cur=${{COMP_WORDS[COMP_CWORD]}} prev=${{COMP_WORDS[COMP_CWORD-1]}} command="" words="" options="" before="" word
  for word in "${{COMP_WORDS[@]:1:COMP_CWORD-1}}"; do
    if [[ $word != -* && $before != --runs-dir && $before != --on ]]; then command="${{command:+$command }}$word"; fi
    before=$word
  done
  if [[ $prev == --set ]]; then
    compopt -o nospace 2>/dev/null
    COMPREPLY=($(compgen -S = -W "{fields}" -- "$cur"))
    return
  fi
  if [[ $prev == --on ]]; then
    COMPREPLY=($(compgen -A hostname -- "$cur"))
    return
  fi
  case "$command" in
    "") words="{commands}" options="--help --version" ;;
{cases}  esac
  if [[ $cur == -* ]]; then
    COMPREPLY=($(compgen -W "$options --json --quiet --runs-dir --on" -- "$cur"))
  elif [[ -n $words && $prev != --runs-dir ]]; then
    COMPREPLY=($(compgen -W "$words" -- "$cur"))
  else
    local IFS=$'\n'
    COMPREPLY=($(compgen -f -- "$cur"))
  fi
}}
complete -o filenames -F _slipway slipway
)";

std::string TopLevelNames(const std::vector<CommandWords>& commands) {
  std::vector<std::string> names;
  for (const auto& command : commands) {
    if (command.name.find(' ') == std::string::npos) names.push_back(command.name);
  }
  return fmt::format("{}", fmt::join(names, " "));
}

/// The commands of a command: "best" for "trials".
std::string InnerNames(const CommandWords& command, const std::vector<CommandWords>& all) {
  std::vector<std::string> names;
  for (const auto& other : all) {
    if (other.name.starts_with(command.name + " ")) names.push_back(other.name.substr(command.name.size() + 1));
  }
  return fmt::format("{}", fmt::join(names, " "));
}

std::string Cases(const std::vector<CommandWords>& commands) {
  std::string cases;
  // The longer names first: "trials best" before "trials".
  for (auto command = commands.rbegin(); command != commands.rend(); ++command) {
    cases += fmt::format("    \"{0}\" | \"{0} \"*) words=\"{1}\" options=\"{2}\" ;;\n", command->name,
                         InnerNames(*command, commands), fmt::join(command->options, " "));
  }
  return cases;
}

/// Only what the file does not say itself.
std::string EngineText(const SpecDocument& document) {
  if (document.engine_reason.empty()) return {};
  return fmt::format("; engine {} ({})", WordOf(document.spec.launch.engine), document.engine_reason);
}

}  // namespace

int Validate(const SpecSelection& selection, Session& session) {
  if (IsWorkflowFile(selection.spec)) return ValidateWorkflow(selection, session);
  const auto document = LoadSpec(selection.spec, selection.overrides);
  for (const auto& warning : document.warnings) session.output.Say(RenderDiagnostic(warning, "warning"));
  RequireEnvironment(document);
  Json warnings = Json::array();
  for (const auto& warning : document.warnings) warnings.push_back(DiagnosticToJson(warning));
  const Json result{{"schema", "slipway.validate/1"},
                    {"valid", true},
                    {"name", document.spec.name},
                    {"spec_hash", document.spec_hash},
                    {"engine", WordOf(document.spec.launch.engine)},
                    {"engine_reason", document.engine_reason},
                    {"warnings", warnings}};
  const auto text =
      fmt::format("{}: valid; {}, {}{}{}", document.file.string(), Counted(document.spec.data.size(), "dataset"),
                  Counted(document.spec.launch.ranks(), "rank"), document.spec.ensemble ? ", an ensemble" : "",
                  EngineText(document));
  session.output.Print({result, text, "valid"});
  return 0;
}

int Schema(const SchemaOptions& options, Session& session) {
  const auto schema = options.workflow ? WorkflowSchema() : JsonSchema();
  const auto text = options.markdown ? ReferencePage() : schema.dump(2);
  session.output.Print({schema, text, text});
  return 0;
}

std::string CompletionScript(const CompletionOptions& options, const std::vector<std::string>& fields) {
  const auto script =
      fmt::format(kBash, fmt::arg("fields", fmt::join(fields, " ")),
                  fmt::arg("commands", TopLevelNames(options.commands)), fmt::arg("cases", Cases(options.commands)));
  if (options.shell == "zsh") return "#compdef slipway\nautoload -U +X bashcompinit && bashcompinit\n" + script;
  return script;
}

int Completion(const CompletionOptions& options, Session& session) {
  const auto script = CompletionScript(options, CompletionWords());
  session.output.Print({Json{{"schema", "slipway.completion/1"}, {"script", script}}, script, script});
  return 0;
}

}  // namespace slipway::launcher
