#include "launcher/spec/environment_references.h"

#include <cstdlib>

#include "core/environment.h"
#include "launcher/spec/utf8.h"

namespace slipway::launcher {
namespace {

class Expander {
 public:
  Expander(const YamlNode& node, const Sources& sources, const LookUp& look_up, Report& report, KeptReferences kept)
      : node_(node), sources_(sources), look_up_(look_up), report_(report), kept_(kept) {}

  std::string Expand() {
    std::string_view rest = node_.text;
    std::string result;
    while (true) {
      const std::size_t dollar = rest.find("${");
      result += rest.substr(0, dollar);
      if (dollar == std::string_view::npos) return result;
      rest.remove_prefix(dollar + 2);
      if (result.ends_with('$')) {
        result += kept_.keep == nullptr ? "{" : "${";
        continue;
      }
      const std::size_t end = rest.find('}');
      if (end == std::string_view::npos) {
        Refuse("${" + std::string(rest), "'${' without '}'; write $${ for a literal ${");
        return result;
      }
      result += Value(rest.substr(0, end));
      rest.remove_prefix(end + 1);
    }
  }

  bool failed() const { return failed_; }

 private:
  std::string Value(std::string_view reference) {
    std::string written = "${" + std::string(reference) + "}";
    if (kept_.keep != nullptr && kept_.keep(reference)) return written;
    const std::size_t colon = reference.find(":-");
    const std::string name(reference.substr(0, colon));
    if (!IsVariableName(name)) {
      const std::string form = " is not a reference like ${NAME} or ${NAME:-default}; write $${ for a literal ${";
      RefuseUnknown(reference, Quoted(written) + form);
      return {};
    }
    const std::optional<std::string> value = look_up_(name);
    if (value && FindTextFault(*value)) {
      Refuse(written, "the environment variable " + Quoted(name) + " does not hold text");
      return {};
    }
    if (colon != std::string_view::npos)
      return std::string(value && !value->empty() ? *value : reference.substr(colon + 2));
    if (!value) {
      RefuseUnknown(reference, "the environment variable " + Quoted(name) + " is not set; give a default as ${" + name +
                                   ":-value}, or write $${" + name + "} for that very text");
    }
    return value.value_or("");
  }

  void RefuseUnknown(std::string_view reference, std::string message) {
    const std::string why = kept_.why_not == nullptr ? "" : kept_.why_not(reference);
    Refuse("${" + std::string(reference) + "}", why.empty() ? std::move(message) : why);
  }

  void Refuse(const std::string& written, std::string message) {
    failed_ = true;
    report_.Error(PlaceOf(written), std::move(message));
  }

  /// Where `written` stands: inside the value when it can be found there, else the value.
  Place PlaceOf(const std::string& written) const {
    Place place = node_.place;
    const std::string_view line = sources_[place.source].Line(place.line);
    const std::size_t found = line.find(written, static_cast<std::size_t>(place.column));
    if (found == std::string_view::npos) return place;
    place.column = static_cast<int>(found);
    place.length = static_cast<int>(written.size());
    return place;
  }

  const YamlNode& node_;
  const Sources& sources_;
  const LookUp& look_up_;
  Report& report_;
  KeptReferences kept_;
  bool failed_ = false;
};

/// Paths of tiers are looked up on each node, secrets when they are used.
bool KeepsReferences(TypeKind kind) { return kind == TypeKind::kTierPath || kind == TypeKind::kSecretUrl; }

}  // namespace

std::string WhyNotSettable(std::string_view variable) {
  if (!IsVariableName(variable)) return Quoted(variable) + " cannot be the name of an environment variable";
  return variable.starts_with("SLIPWAY_") ? "variables called SLIPWAY_... are set by Slipway itself" : "";
}

std::optional<std::string> LookUpInEnvironment(const std::string& name) {
  const char* value = std::getenv(name.c_str());
  return value == nullptr ? std::nullopt : std::optional<std::string>(value);
}

void ExpandReferences(YamlNode& node, const FieldNode* field, const Sources& sources, const LookUp& look_up,
                      Report& report, KeptReferences kept) {
  if (field != nullptr && field->field != nullptr && KeepsReferences(field->field->type.kind)) return;
  if (node.text.find("${") != std::string::npos) {
    Expander expander(node, sources, look_up, report, kept);
    node.text = expander.Expand();
    node.broken = expander.failed();
  }
  for (YamlNode& item : node.items) ExpandReferences(item, field, sources, look_up, report, kept);
  for (YamlEntry& entry : node.entries) {
    const auto* child = field == nullptr ? nullptr : field->Child(entry.key);
    ExpandReferences(entry.value, child, sources, look_up, report, kept);
  }
}

}  // namespace slipway::launcher
