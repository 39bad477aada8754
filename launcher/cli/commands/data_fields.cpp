#include "launcher/cli/commands/data_fields.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <nlohmann/json.hpp>

namespace slipway::launcher {

std::string FieldInfoText(const staging::FieldInfo& field) {
  const auto values =
      field.shape.empty() ? std::to_string(field.count) : fmt::format("{}", fmt::join(field.shape, "x"));
  return fmt::format("{}: {} {}", field.name, WordOf(field.kind), values);
}

Json FieldInfoDocument(const staging::FieldInfo& field) {
  return {{"name", field.name}, {"kind", WordOf(field.kind)}, {"count", field.count}, {"shape", field.shape}};
}

}  // namespace slipway::launcher
