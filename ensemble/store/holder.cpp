#include "ensemble/store/holder.h"

#include <unistd.h>

#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/files.h"
#include "core/json_fields.h"

namespace slipway::ensemble {

template <class Visitor, MaybeConst<Holder> Struct>
void Visit(Visitor& visit, Struct& holder) {
  visit("host", holder.host);
  visit("process", holder.process);
  visit("hold", holder.hold, Presence::kOptional);
}

WordTable<Hold> WordsOf(Hold) {
  static constexpr Word<Hold> kWords[] = {{Hold::kManager, "manager"}, {Hold::kCommand, "command"}};
  return kWords;
}

std::string DescribeThisProcess(Hold hold) {
  return WriteFields(Holder{IdentityOf(::getpid()), HostName(), hold}).dump() + "\n";
}

std::optional<Holder> ReadHolder(const std::filesystem::path& lock) {
  try {
    return ReadFields<Holder>(Json::parse(ReadFile(lock), nullptr, false), {lock.string()});
  } catch (const Error&) {
    return std::nullopt;
  }
}

bool MayBeAlive(const Holder& holder) { return holder.host != HostName() || IsAlive(holder.process); }

bool HasManager(const std::filesystem::path& lock) {
  const auto holder = ReadHolder(lock);
  return holder && holder->hold == Hold::kManager && MayBeAlive(*holder);
}

}  // namespace slipway::ensemble
