#include "launcher/spec/burst_buffer_spec.h"

namespace slipway::launcher {

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
