#include "launcher/workflow/step_texts.h"

#include <fmt/format.h>

namespace slipway::launcher {
namespace {

using Take = std::function<void(const std::string& field, const std::string& text, TextUse use)>;

void TakeWords(const char* field, const std::vector<std::string>& words, const Take& take) {
  for (std::size_t i = 0; i < words.size(); ++i) take(fmt::format("{}[{}]", field, i), words[i], TextUse::kWord);
}

void TakeNamed(const char* field, const NamedStrings& values, const Take& take) {
  for (const auto& [name, value] : values) take(fmt::format("{}.{}", field, name), value, TextUse::kText);
}

}  // namespace

void ForEachText(const Step& step, const Take& take) {
  if (const auto* command = std::get_if<CommandStep>(&step.work)) TakeWords("command", command->words, take);
  if (const auto* data = std::get_if<DataStep>(&step.work)) TakeWords("data", data->words, take);
  TakeNamed("inputs", step.inputs, take);
  TakeNamed("env", step.env, take);
  if (!step.when.empty()) take("when", step.when, TextUse::kCondition);
}

const YamlNode* SpecOf(const Step& step) {
  if (const auto* experiment = std::get_if<ExperimentStep>(&step.work)) return experiment->spec.get();
  if (const auto* ensemble = std::get_if<EnsembleStep>(&step.work)) return ensemble->spec.get();
  return nullptr;
}

}  // namespace slipway::launcher
