/// What a notification says. Pure.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/json.h"
#include "launcher/spec/spec.h"

namespace slipway::launcher {

struct Notice {
  NotifyOn event = NotifyOn::kEnd;
  std::string run;
  std::string name;
  std::string state;   ///< of the run: "running", "failed"
  std::string reason;  ///< one line; may be empty
  std::string best;    ///< "loss 0.12": of an ensemble that has one, else empty
  std::string trial;   ///< number of the best trial; may be empty
  std::string folder;
  std::string host;
  double time = 0;                        ///< seconds since 1970
  std::map<std::string, double> metrics;  ///< of a single run that has ended
};

/// `slipway.notification/1`. With a member `text`, which many chat services show.
Json ToJson(const Notice& notice);
/// "fashion-...: failed: rank 1 ended with exit status 3".
std::string TextOf(const Notice& notice);

/// The body for a webhook: the template, filled, or the document.
std::string BodyFor(const NotifySpec& entry, const Notice& notice);

/// SLIPWAY_EVENT, SLIPWAY_RUN, ... for a command.
std::vector<std::pair<std::string, std::string>> VariablesFor(const Notice& notice);

/// The first of `events` that the entry is about; nothing: none of them.
std::optional<NotifyOn> EventFor(const NotifySpec& entry, const std::vector<NotifyOn>& events);

/// "command 'mail'", "webhook https://hooks.slack.com/***", "webhook $SLACK_WEBHOOK".
std::string Describe(const NotifySpec& entry);

}  // namespace slipway::launcher
