#include "launcher/spec/burst_buffer_spec.h"

#include "launcher/spec/json_values.h"

namespace slipway::launcher {
namespace {

constexpr std::array kBufferKinds = {Word{"none", BurstBufferKind::kNone}, Word{"datawarp", BurstBufferKind::kDataWarp},
                                     Word{"dws", BurstBufferKind::kDws}, Word{"lua", BurstBufferKind::kLua}};
constexpr std::array kAccesses = {Word{"striped", BufferAccess::kStriped}, Word{"private", BufferAccess::kPrivate}};
constexpr std::array kActions = {Word{"use", PersistentAction::kUse}, Word{"create", PersistentAction::kCreate},
                                 Word{"destroy", PersistentAction::kDestroy}};

}  // namespace

BurstBufferSpec BuildBurstBuffer(const Json& json) {
  BurstBufferSpec result;
  result.type = FromWord(kBufferKinds, json.at("type"));
  result.pool = TextOrEmpty(json.at("pool"));
  result.access = FromWord(kAccesses, json.at("access"));
  result.capacity = MaybeBytes(json.at("capacity"));
  result.headroom = json.at("headroom").at("fraction").get<double>();
  result.persistent = TextOrEmpty(json.at("persistent"));
  result.action = FromWord(kActions, json.at("action"));
  result.stage_in = json.at("stage_in").get<bool>();
  for (const auto& [folder, to] : json.at("stage_out").items()) {
    result.stage_out.emplace_back(folder, to.get<std::string>());
  }
  return result;
}

BurstBuffer BufferOf(const BurstBufferSpec& spec, Bytes capacity) {
  BurstBuffer buffer;
  buffer.kind = spec.type;
  buffer.access = spec.access;
  buffer.capacity = capacity;
  buffer.pool = spec.pool;
  buffer.persistent = spec.persistent;
  buffer.action = spec.action;
  for (const auto& [folder, to] : spec.stage_out) buffer.out.push_back({TransferKind::kDirectory, to, folder});
  return buffer;
}

}  // namespace slipway::launcher
