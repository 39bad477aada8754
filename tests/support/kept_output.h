/// An Output that keeps what a command says.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "core/output.h"

namespace slipway::test {

class KeptOutput : public Output {
 public:
  OutputMode mode() const override { return OutputMode::kHuman; }
  void Print(const Result& result) override {
    document = result.document;
    text = result.text;
    brief = result.brief;
  }
  void Stream(const Json&, std::string_view line) override { text += std::string(line) + "\n"; }
  void Say(std::string_view line) override { said += std::string(line) + "\n"; }
  void Warn(std::string_view line) override { warnings += line; }
  void Fail(const Error&) override {}
  void Progress(std::string_view line) override { progress += std::string(line) + "\n"; }

  Json document;
  std::string text;
  std::string brief;
  std::string said;
  std::string warnings;
  std::string progress;
};

}  // namespace slipway::test
