/// JSON forms of spec members that differ from the form of their type.
#pragma once

#include <nlohmann/json.hpp>

#include "core/json_fields.h"
#include "ensemble/model/scalar.h"
#include "ensemble/space/parameter.h"
#include "launcher/spec/spec.h"

namespace slipway::launcher {

/// "auto" is nothing.
template <class Value>
struct OrAuto {
  std::optional<Value>& value;
};
template <class Value>
OrAuto(std::optional<Value>&) -> OrAuto<Value>;
template <class Value>
void ReadValue(const JsonPlace& place, OrAuto<Value>& form) {
  if (place.json() != "auto") json_fields::Read(place, form.value.emplace());
}

/// "all" is 0 bytes.
struct OrAll {
  std::optional<Bytes>& bytes;
};
inline void ReadValue(const JsonPlace& place, OrAll& form) {
  form.bytes.emplace();
  if (place.json() != "all") json_fields::Read(place, *form.bytes);
}

/// {"fraction": 0.1}.
struct Share {
  double& fraction;
};
inline void ReadValue(const JsonPlace& place, Share& form) {
  FieldReader read(place);
  read("fraction", form.fraction);
}

/// "included" is true.
struct WhetherIncluded {
  bool& value;
};
inline void ReadValue(const JsonPlace& place, WhetherIncluded& form) { form.value = place.Text() == "included"; }

inline void ReadValue(const JsonPlace& place, StepCount& count) {
  count = {};
  if (place.json().is_object()) {
    Share share{count.fraction.emplace()};
    ReadValue(place, share);
  } else {
    json_fields::Read(place, count.steps.emplace());
  }
}

inline void ReadValue(const JsonPlace& place, Determinism& determinism) {
  if (place.json().is_string()) {
    determinism = Determinism::kCanonical;
  } else {
    determinism = place.Truth() ? Determinism::kOn : Determinism::kOff;
  }
}

inline void ReadValue(const JsonPlace& place, WorkdirSpec& workdir) {
  const auto text = place.Text();
  workdir = {};
  if (text == "spec") workdir.kind = WorkdirKind::kSpec;
  if (text != "spec" && text != "own") workdir = {WorkdirKind::kPath, text};
}

inline void ReadValue(const JsonPlace& place, StartChoice& start) { start = StartChoiceOf(place.Text()); }

/// One word stands for a list of one.
template <class Value>
struct OneOrMore {
  std::vector<Value>& values;
};
template <class Value>
OneOrMore(std::vector<Value>&) -> OneOrMore<Value>;
template <class Value>
void ReadValue(const JsonPlace& place, OneOrMore<Value>& form) {
  form.values.clear();
  place.json().is_array() ? json_fields::Read(place, form.values)
                          : json_fields::Read(place, form.values.emplace_back());
}

/// {"url": "https://..."} or {"env": "NAME"}.
inline void ReadValue(const JsonPlace& place, SecretUrl& secret) {
  FieldReader read(place);
  read("url", secret.url, Presence::kOptional);
  read("env", secret.variable, Presence::kOptional);
}

/// Values by name.
struct Values {
  ensemble::Point& point;
};
/// The same, where a value may be a list.
struct ArgumentValues {
  ProgramArguments& args;
};
struct Points {
  std::vector<ensemble::Point>& points;
};
struct Space {
  std::vector<ensemble::Parameter>& parameters;
};
void ReadValue(const JsonPlace& place, Values& form);
void ReadValue(const JsonPlace& place, ArgumentValues& form);
void ReadValue(const JsonPlace& place, Points& form);
void ReadValue(const JsonPlace& place, Space& form);

}  // namespace slipway::launcher
