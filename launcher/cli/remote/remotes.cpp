#include "launcher/cli/remote/remotes.h"

#include <fmt/format.h>

#include <array>
#include <optional>
#include <vector>

#include "core/error.h"
#include "core/files.h"
#include "core/nearest_word.h"
#include "launcher/spec/environment_references.h"
#include "launcher/spec/source.h"
#include "launcher/spec/yaml_tree.h"

namespace slipway::launcher {
namespace {

namespace fs = std::filesystem;
using Kind = YamlNode::Kind;

const std::vector<std::string> kKeys{"ssh", "root", "program", "limit"};

/// ssh takes a word that begins with '-' for an option, and options can start programs.
void RequireDestination(const std::string& destination) {
  if (!destination.empty() && destination.front() != '-') return;
  throw Error(ErrorKind::kUsage, fmt::format("{} is no host for ssh", Quoted(destination)),
              "give --on a name from 'remotes' in your settings, HOST or USER@HOST");
}

class RemoteReader {
 public:
  RemoteReader(Report& report, Remote& remote) : report_(report), remote_(remote) {}

  void Read(const YamlNode& node) {
    if (node.kind != Kind::kMap) {
      return report_.Error(node.place, "a remote is a map such as {ssh: login.nersc.gov, root: /scratch/me}");
    }
    for (const auto& entry : node.entries) ReadField(entry);
  }

 private:
  void ReadField(const YamlEntry& entry) {
    if (std::find(kKeys.begin(), kKeys.end(), entry.key) == kKeys.end()) {
      return report_.Error(entry.key_place,
                           fmt::format("unknown field {}{}", Quoted(entry.key), SuggestWord(entry.key, kKeys)));
    }
    if (entry.value.kind != Kind::kScalar || entry.value.text.empty()) {
      return report_.Error(entry.value.place, fmt::format("{} is a text that is not empty", entry.key));
    }
    Take(entry);
  }

  void Take(const YamlEntry& entry) {
    const auto& text = entry.value.text;
    if (entry.key == "ssh") remote_.destination = text;
    if (entry.key == "root") remote_.root = text.starts_with("~/") ? text.substr(2) : text;
    if (entry.key == "program") remote_.program = text.starts_with("~/") ? text.substr(2) : text;
    if (entry.key != "limit") return;
    if (const auto bytes = ParseBytes(text)) {
      remote_.limit = *bytes;
    } else {
      report_.Error(entry.value.place, "limit is a size such as 500MB");
    }
  }

  Report& report_;
  Remote& remote_;
};

/// The map `remotes`; null when there is none.
const YamlNode* RemotesIn(const YamlNode& tree, Report& report) {
  const auto* remotes = tree.kind == Kind::kMap ? tree.Find("remotes") : nullptr;
  if (remotes == nullptr || remotes->value.kind == Kind::kNull) return nullptr;
  if (remotes->value.kind == Kind::kMap) return &remotes->value;
  report.Error(remotes->value.place, "remotes is a map of names, each to a map such as {ssh: HOST, root: FOLDER}");
  return nullptr;
}

void ReadEntry(const YamlNode& remotes, Report& report, Remote& remote) {
  for (const auto& entry : remotes.entries) {
    if (entry.key != remote.name) {
      remote.others.push_back(entry.key);
    } else {
      remote.is_in_settings = true;
      RemoteReader(report, remote).Read(entry.value);
    }
  }
}

}  // namespace

Remote FindRemote(const std::string& name, const fs::path& settings) {
  Remote remote{.name = name, .destination = name};
  Sources sources;
  Report report(sources);
  if (!settings.empty() && IsRegularFile(settings)) {
    const int source = sources.Add(settings.string(), ReadFile(settings), settings.parent_path());
    auto tree = ParseYaml(sources, source, report);
    if (tree) ExpandReferences(*tree, nullptr, sources, LookUpInEnvironment, report);
    const auto* remotes = tree ? RemotesIn(*tree, report) : nullptr;
    if (remotes != nullptr) ReadEntry(*remotes, report, remote);
  }
  if (report.HasErrors()) throw SpecError(report.TakeErrors());
  RequireDestination(remote.destination);
  return remote;
}

}  // namespace slipway::launcher
