#include "ensemble/store/holder.h"

#include <unistd.h>

#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/files.h"
#include "core/json.h"

namespace slipway::ensemble {

std::string DescribeThisProcess() {
  return Json{{"host", HostName()}, {"process", ToJson(IdentityOf(::getpid()))}}.dump() + "\n";
}

std::optional<Holder> ReadHolder(const std::filesystem::path& lock) {
  try {
    const Json json = Json::parse(ReadFile(lock));
    return Holder{ProcessIdentityFromJson(json.at("process")), json.at("host").get<std::string>()};
  } catch (const Json::exception&) {
    return std::nullopt;
  } catch (const Error&) {
    return std::nullopt;
  }
}

bool MayBeAlive(const Holder& holder) { return holder.host != HostName() || IsAlive(holder.process); }

}  // namespace slipway::ensemble
