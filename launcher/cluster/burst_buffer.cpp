#include "launcher/cluster/burst_buffer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "core/error.h"
#include "launcher/cluster/directive_text.h"

namespace slipway::launcher {
namespace {

/// Of the buffer of a job under DWS, where every buffer has one: DW_JOB_slipway.
constexpr std::string_view kDwsName = "slipway";

[[noreturn]] void RefuseBuffer(std::string message, std::string next_step) {
  throw Error(ErrorKind::kUsage, std::move(message), std::move(next_step));
}

/// A value as the directive holds it; Slurm takes `%%` for `%`.
std::string Value(std::string_view what, const std::string& text) {
  if (const auto reason = WhyNotInBufferDirective(text); !reason.empty()) {
    RefuseBuffer(fmt::format("{} {} cannot stand in a burst-buffer directive: {}", what, Shown(text), reason),
                 "directives have no quotes: give it another name");
  }
  return SlurmPattern(text);
}

std::string Optional(std::string_view key, const std::string& text) {
  return text.empty() ? "" : fmt::format(" {}={}", key, Value(key, text));
}

/// Under DWS: Lustre is seen by all nodes, XFS by one.
std::string_view DwsTypeFor(BufferAccess access) { return access == BufferAccess::kStriped ? "lustre" : "xfs"; }

std::string Inside(const BurstBuffer& buffer, const BufferTransfer& transfer) {
  for (const auto& part : std::filesystem::path(transfer.inside)) {
    if (part == ".." || part == "/")
      RefuseBuffer(fmt::format("{} leaves the burst buffer", Shown(transfer.inside)), "name a folder of the buffer");
  }
  return fmt::format("${}/{}", BufferVariable(buffer), Value("the path", transfer.inside));
}

std::string Outside(const BufferTransfer& transfer) {
  if (!transfer.outside.is_absolute())
    RefuseBuffer(fmt::format("{} is not absolute", Shown(transfer.outside.string())), "begin it with '/'");
  return Value("the path", transfer.outside.string());
}

void CheckPersistent(const BurstBuffer& buffer) {
  if (buffer.kind == BurstBufferKind::kLua) {
    RefuseBuffer("Slurm's lua plugin has no persistent burst buffers",
                 "leave launch.slurm.burst_buffer.persistent out");
  }
  // The name becomes a part of a variable's; and Slurm keeps numbers for the buffers of jobs.
  const auto may_stand = [&](unsigned char c) {
    return std::isalnum(c) != 0 || c == '_' || (c == '-' && buffer.kind == BurstBufferKind::kDws);
  };
  const auto& name = buffer.persistent;
  if (std::isdigit(static_cast<unsigned char>(name[0])) == 0 && std::all_of(name.begin(), name.end(), may_stand)) {
    return;
  }
  RefuseBuffer(fmt::format("{} cannot be the name of a persistent burst buffer", Shown(name)),
               "use letters, digits and '_', and begin with a letter");
}

bool MakesOne(const BurstBuffer& buffer) {
  return buffer.persistent.empty() || buffer.action == PersistentAction::kCreate;
}

void Check(const BurstBuffer& buffer) {
  if (!buffer.persistent.empty()) CheckPersistent(buffer);
  if (MakesOne(buffer) && buffer.capacity.count == 0) {
    RefuseBuffer("a burst buffer of no size", "say how large with launch.slurm.burst_buffer.capacity");
  }
  if (buffer.kind == BurstBufferKind::kLua && buffer.pool.empty()) {
    RefuseBuffer("a capacity for Slurm's lua plugin needs a pool", "name it with launch.slurm.burst_buffer.pool");
  }
}

std::vector<std::string> DataWarpBuffer(const BurstBuffer& buffer) {
  const auto capacity = CapacityText(buffer.capacity);
  const auto pool = Optional("pool", buffer.pool);
  if (buffer.persistent.empty()) {
    return {fmt::format("#DW jobdw type=scratch access_mode={} capacity={}{}", WordOf(buffer.access), capacity, pool)};
  }
  const auto name = Value("the name", buffer.persistent);
  const auto use = fmt::format("#DW persistentdw name={}", name);
  switch (buffer.action) {
    case PersistentAction::kUse: return {use};
    case PersistentAction::kDestroy: return {fmt::format("#BB destroy_persistent name={}", name)};
    case PersistentAction::kCreate: break;
  }
  return {fmt::format("#BB create_persistent name={} capacity={} access={} type=scratch{}", name, capacity,
                      WordOf(buffer.access), pool),
          use};
}

std::vector<std::string> DwsBuffer(const BurstBuffer& buffer) {
  const auto made = fmt::format("type={} capacity={}", DwsTypeFor(buffer.access), CapacityText(buffer.capacity));
  const auto profile = Optional("profile", buffer.pool);
  if (buffer.persistent.empty()) return {fmt::format("#DW jobdw {} name={}{}", made, kDwsName, profile)};
  const auto name = Value("the name", buffer.persistent);
  const auto use = fmt::format("#DW persistentdw name={}", name);
  switch (buffer.action) {
    case PersistentAction::kUse: return {use};
    case PersistentAction::kDestroy: return {fmt::format("#DW destroy_persistent name={}", name)};
    case PersistentAction::kCreate: break;
  }
  return {fmt::format("#DW create_persistent {} name={}{}", made, name, profile), use};
}

std::vector<std::string> BufferLines(const BurstBuffer& buffer) {
  if (buffer.kind == BurstBufferKind::kDws) return DwsBuffer(buffer);
  if (buffer.kind == BurstBufferKind::kDataWarp) return DataWarpBuffer(buffer);
  return {fmt::format("#BB_LUA pool={} capacity={}", Value("the pool", buffer.pool), CapacityText(buffer.capacity))};
}

/// `verb`: "in" or "out".
std::string TransferLine(const BurstBuffer& buffer, const BufferTransfer& transfer, std::string_view verb) {
  const auto outside = Outside(transfer);
  const auto inside = Inside(buffer, transfer);
  const auto ends = verb == "in" ? fmt::format("source={} destination={}", outside, inside)
                                 : fmt::format("source={} destination={}", inside, outside);
  if (buffer.kind != BurstBufferKind::kDws) {
    const auto mark = buffer.kind == BurstBufferKind::kLua ? "#BB_LUA" : "#DW";
    return fmt::format("{} stage_{} type={} {}", mark, verb, WordOf(transfer.kind), ends);
  }
  if (transfer.kind == TransferKind::kList) {
    RefuseBuffer("DWS cannot stage the files of a list", "stage each file, or a directory");
  }
  return fmt::format("#DW copy_{} {}", verb, ends);
}

}  // namespace

WordTable<BurstBufferKind> WordsOf(BurstBufferKind) {
  static constexpr Word<BurstBufferKind> kWords[] = {{BurstBufferKind::kNone, "none"},
                                                     {BurstBufferKind::kDataWarp, "datawarp", "`#DW` of DataWarp"},
                                                     {BurstBufferKind::kDws, "dws", "`#DW` of HPE's DWS"},
                                                     {BurstBufferKind::kLua, "lua", "`#BB_LUA`"}};
  return kWords;
}

WordTable<BufferAccess> WordsOf(BufferAccess) {
  static constexpr Word<BufferAccess> kWords[] = {
      {BufferAccess::kStriped, "striped", "all nodes see the same"},
      {BufferAccess::kPrivate, "private", "each node has its own, into which the system stages nothing"}};
  return kWords;
}

WordTable<PersistentAction> WordsOf(PersistentAction) {
  static constexpr Word<PersistentAction> kWords[] = {{PersistentAction::kUse, "use"},
                                                      {PersistentAction::kCreate, "create", "create it, then use it"},
                                                      {PersistentAction::kDestroy, "destroy"}};
  return kWords;
}

WordTable<TransferKind> WordsOf(TransferKind) {
  static constexpr Word<TransferKind> kWords[] = {
      {TransferKind::kFile, "file"}, {TransferKind::kDirectory, "directory"}, {TransferKind::kList, "list"}};
  return kWords;
}

std::string CapacityText(Bytes capacity) {
  constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;
  constexpr std::uint64_t kGiB = std::uint64_t{1} << 30;
  const auto units = [&](std::uint64_t unit) { return capacity.count / unit + (capacity.count % unit != 0 ? 1 : 0); };
  return capacity.count >= kGiB ? fmt::format("{}GiB", units(kGiB)) : fmt::format("{}MiB", units(kMiB));
}

std::string BufferVariable(const BurstBuffer& buffer) {
  if (buffer.kind == BurstBufferKind::kNone) return {};
  if (!buffer.persistent.empty() && buffer.action == PersistentAction::kDestroy) return {};
  const auto access = buffer.access == BufferAccess::kStriped ? "STRIPED" : "PRIVATE";
  if (buffer.kind == BurstBufferKind::kLua) return fmt::format("BB_JOB_{}", access);
  if (buffer.kind == BurstBufferKind::kDataWarp) {
    return buffer.persistent.empty() ? fmt::format("DW_JOB_{}", access)
                                     : fmt::format("DW_PERSISTENT_{}_{}", access, buffer.persistent);
  }
  if (buffer.persistent.empty()) return fmt::format("DW_JOB_{}", kDwsName);
  auto name = buffer.persistent;
  std::replace(name.begin(), name.end(), '-', '_');
  return "DW_PERSISTENT_" + name;
}

std::vector<std::string> BurstBufferDirectives(const BurstBuffer& buffer) {
  if (buffer.kind == BurstBufferKind::kNone) return {};
  Check(buffer);
  auto lines = BufferLines(buffer);
  if (BufferVariable(buffer).empty()) return lines;
  for (const auto& transfer : buffer.in) lines.push_back(TransferLine(buffer, transfer, "in"));
  for (const auto& transfer : buffer.out) lines.push_back(TransferLine(buffer, transfer, "out"));
  return lines;
}

}  // namespace slipway::launcher
