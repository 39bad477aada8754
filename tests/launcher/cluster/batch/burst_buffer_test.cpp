// Burst-buffer directives, word for word.

#include "launcher/cluster/burst_buffer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/error.h"
#include "launcher/cluster/directive_text.h"

namespace slipway::launcher {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr std::uint64_t kGiB = std::uint64_t{1} << 30;

BurstBuffer Buffer(BurstBufferKind kind) {
  BurstBuffer buffer;
  buffer.kind = kind;
  buffer.capacity = Bytes{3 * kGiB};
  return buffer;
}

BurstBuffer Persistent(BurstBufferKind kind, PersistentAction action) {
  auto buffer = Buffer(kind);
  buffer.persistent = "cosmo";
  buffer.action = action;
  return buffer;
}

std::string RefusalOf(const BurstBuffer& buffer) {
  try {
    BurstBufferDirectives(buffer);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kUsage);
    return error.what();
  }
  return "no error";
}

TEST(BurstBuffer, SaysNothingWhereThereIsNone) {
  EXPECT_THAT(BurstBufferDirectives({}), IsEmpty());
  EXPECT_EQ(BufferVariable({}), "");
}

TEST(BurstBuffer, SpeaksDataWarp) {
  auto buffer = Buffer(BurstBufferKind::kDataWarp);
  buffer.pool = "wlm_pool";
  buffer.in = {{TransferKind::kDirectory, "/data/train", "staged/train"},
               {TransferKind::kList, "/r/l.list", "staged/x"}};
  buffer.out = {{TransferKind::kFile, "/r/out.h5", "out.h5"}};
  EXPECT_THAT(BurstBufferDirectives(buffer),
              ElementsAre("#DW jobdw type=scratch access_mode=striped capacity=3GiB pool=wlm_pool",
                          "#DW stage_in type=directory source=/data/train destination=$DW_JOB_STRIPED/staged/train",
                          "#DW stage_in type=list source=/r/l.list destination=$DW_JOB_STRIPED/staged/x",
                          "#DW stage_out type=file source=$DW_JOB_STRIPED/out.h5 destination=/r/out.h5"));
}

TEST(BurstBuffer, SpeaksTheLanguageOfTheSuccessor) {
  auto buffer = Buffer(BurstBufferKind::kDws);
  buffer.pool = "large";
  buffer.in = {{TransferKind::kFile, "/data/a.h5", "staged/train/a.h5"}};
  buffer.out = {{TransferKind::kDirectory, "/r/plots", "plots"}};
  EXPECT_THAT(BurstBufferDirectives(buffer),
              ElementsAre("#DW jobdw type=lustre capacity=3GiB name=slipway profile=large",
                          "#DW copy_in source=/data/a.h5 destination=$DW_JOB_slipway/staged/train/a.h5",
                          "#DW copy_out source=$DW_JOB_slipway/plots destination=/r/plots"));
  buffer.access = BufferAccess::kPrivate;
  EXPECT_THAT(BurstBufferDirectives(buffer).front(), HasSubstr("type=xfs "));
  buffer.in = {{TransferKind::kList, "/r/l.list", "staged/x"}};
  EXPECT_THAT(RefusalOf(buffer), HasSubstr("list"));
}

TEST(BurstBuffer, SpeaksLua) {
  auto buffer = Buffer(BurstBufferKind::kLua);
  EXPECT_THAT(RefusalOf(buffer), HasSubstr("needs a pool"));
  buffer.pool = "bb";
  buffer.in = {{TransferKind::kFile, "/data/a.h5", "a.h5"}};
  EXPECT_THAT(BurstBufferDirectives(buffer),
              ElementsAre("#BB_LUA pool=bb capacity=3GiB",
                          "#BB_LUA stage_in type=file source=/data/a.h5 destination=$BB_JOB_STRIPED/a.h5"));
}

TEST(BurstBuffer, UsesCreatesAndDestroysPersistentOnes) {
  using enum PersistentAction;
  const auto lines = [](BurstBufferKind kind, PersistentAction action) {
    return BurstBufferDirectives(Persistent(kind, action));
  };
  EXPECT_THAT(lines(BurstBufferKind::kDataWarp, kUse), ElementsAre("#DW persistentdw name=cosmo"));
  EXPECT_THAT(lines(BurstBufferKind::kDataWarp, kCreate),
              ElementsAre("#BB create_persistent name=cosmo capacity=3GiB access=striped type=scratch",
                          "#DW persistentdw name=cosmo"));
  EXPECT_THAT(lines(BurstBufferKind::kDataWarp, kDestroy), ElementsAre("#BB destroy_persistent name=cosmo"));
  EXPECT_THAT(lines(BurstBufferKind::kDws, kUse), ElementsAre("#DW persistentdw name=cosmo"));
  EXPECT_THAT(lines(BurstBufferKind::kDws, kCreate),
              ElementsAre("#DW create_persistent type=lustre capacity=3GiB name=cosmo", "#DW persistentdw name=cosmo"));
  EXPECT_THAT(lines(BurstBufferKind::kDws, kDestroy), ElementsAre("#DW destroy_persistent name=cosmo"));
}

TEST(BurstBuffer, NeedsNoSizeForOneThatExists) {
  auto buffer = Persistent(BurstBufferKind::kDataWarp, PersistentAction::kUse);
  buffer.capacity = {};
  EXPECT_EQ(BurstBufferDirectives(buffer).size(), 1u);
  buffer.action = PersistentAction::kCreate;
  EXPECT_THAT(RefusalOf(buffer), HasSubstr("of no size"));
  buffer.persistent.clear();
  EXPECT_THAT(RefusalOf(buffer), HasSubstr("of no size"));
}

TEST(BurstBuffer, IsFoundByTheVariableOfItsKind) {
  auto buffer = Buffer(BurstBufferKind::kDataWarp);
  EXPECT_EQ(BufferVariable(buffer), "DW_JOB_STRIPED");
  buffer.access = BufferAccess::kPrivate;
  EXPECT_EQ(BufferVariable(buffer), "DW_JOB_PRIVATE");
  EXPECT_EQ(BufferVariable(Buffer(BurstBufferKind::kDws)), "DW_JOB_slipway");
  EXPECT_EQ(BufferVariable(Buffer(BurstBufferKind::kLua)), "BB_JOB_STRIPED");
  EXPECT_EQ(BufferVariable(Persistent(BurstBufferKind::kDataWarp, PersistentAction::kUse)),
            "DW_PERSISTENT_STRIPED_cosmo");
  EXPECT_EQ(BufferVariable(Persistent(BurstBufferKind::kDataWarp, PersistentAction::kDestroy)), "");
  auto dws = Persistent(BurstBufferKind::kDws, PersistentAction::kUse);
  dws.persistent = "cosmo-flow";
  EXPECT_EQ(BufferVariable(dws), "DW_PERSISTENT_cosmo_flow");
}

TEST(BurstBuffer, RefusesNamesThatNoVariableCanHave) {
  for (const auto* name : {"1st", "a b", "a\nb", "a$b", "a-b", "a.b"}) {
    auto buffer = Persistent(BurstBufferKind::kDataWarp, PersistentAction::kUse);
    buffer.persistent = name;
    EXPECT_THAT(RefusalOf(buffer), HasSubstr("cannot be the name of a persistent")) << name;
  }
  auto lua = Persistent(BurstBufferKind::kLua, PersistentAction::kUse);
  EXPECT_THAT(RefusalOf(lua), HasSubstr("no persistent burst buffers"));
}

TEST(BurstBuffer, DoublesPercentSigns) {
  auto buffer = Buffer(BurstBufferKind::kDataWarp);
  buffer.in = {{TransferKind::kFile, "/data/50%j/a", "staged/a%u"}};
  EXPECT_THAT(BurstBufferDirectives(buffer).back(),
              "#DW stage_in type=file source=/data/50%%j/a destination=$DW_JOB_STRIPED/staged/a%%u");
}

TEST(BurstBuffer, RefusesPathsThatEndAWordOrLeaveTheBuffer) {
  for (const auto* path : {"/a b", "/a\nb", "/a\tb", "/a\"b", "/a'b", "/a\\", "/a#b", "/$HOME", "/x/capacity=9TiB",
                           "/x/type=list", "relative", ""}) {
    auto buffer = Buffer(BurstBufferKind::kDataWarp);
    buffer.in = {{TransferKind::kFile, path, "a"}};
    EXPECT_NE(RefusalOf(buffer), "no error") << path;
  }
  for (const auto* path : {"../a", "a/../../b", "/a", "a b"}) {
    auto buffer = Buffer(BurstBufferKind::kDataWarp);
    buffer.out = {{TransferKind::kDirectory, "/out", path}};
    EXPECT_NE(RefusalOf(buffer), "no error") << path;
  }
  EXPECT_EQ(WhyNotInBufferDirective("/data/year=2020/a.h5"), "");  // only keys of directives are dangerous
}

TEST(BurstBuffer, RoundsItsCapacityUp) {
  EXPECT_EQ(CapacityText(Bytes{1}), "1MiB");
  EXPECT_EQ(CapacityText(Bytes{1 << 20}), "1MiB");
  EXPECT_EQ(CapacityText(Bytes{(1 << 20) + 1}), "2MiB");
  EXPECT_EQ(CapacityText(Bytes{kGiB - 1}), "1024MiB");
  EXPECT_EQ(CapacityText(Bytes{kGiB}), "1GiB");
  EXPECT_EQ(CapacityText(Bytes{kGiB + 1}), "2GiB");
  EXPECT_EQ(CapacityText(Bytes{~std::uint64_t{0}}), "17179869184GiB");
}

}  // namespace
}  // namespace slipway::launcher
