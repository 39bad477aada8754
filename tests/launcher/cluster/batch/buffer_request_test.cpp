// What the `#BB_LUA` lines of a job script ask for, and scripts that ask for what they may not.

#include "launcher/cluster/buffer_request.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "core/error.h"

namespace slipway::launcher {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

std::string RefusalOf(const std::string& script) {
  try {
    ReadBufferRequest(script);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kUsage);
    return error.what();
  }
  return "no error";
}

std::string StageIn(const std::string& source, const std::string& destination) {
  return "#BB_LUA stage_in type=file source=" + source + " destination=" + destination + "\n";
}

TEST(BufferRequest, ReadsBothDirections) {
  const auto request = ReadBufferRequest(
      "#!/bin/bash\n#SBATCH --nodes=2\n#BB_LUA pool=flash capacity=1GiB\n\n"
      "#BB_LUA stage_in type=list source=/r/list destination=$BB_JOB_STRIPED/staged/train\n"
      "#BB_LUA stage_out type=directory \\\n#BB_LUA source=${BB_JOB_STRIPED}/out/ destination=/project/results\n"
      "true\n#BB_LUA stage_in nonsense after the first command\n");
  ASSERT_THAT(request.in, SizeIs(1));
  EXPECT_EQ(request.in[0].kind, TransferKind::kList);
  EXPECT_EQ(request.in[0].outside, "/r/list");
  EXPECT_EQ(request.in[0].inside, "staged/train");
  ASSERT_THAT(request.out, SizeIs(1));
  EXPECT_EQ(request.out[0].kind, TransferKind::kDirectory);
  EXPECT_EQ(request.out[0].inside, "out");
  EXPECT_EQ(request.out[0].outside, "/project/results");
}

TEST(BufferRequest, EndsAtTheNulOfSlurm) {
  using namespace std::string_literals;
  EXPECT_THAT(ReadBufferRequest("#!/bin/sh\n\0#BB_LUA nonsense\n"s).in, IsEmpty());
}

TEST(BufferRequest, RefusesWhatLeavesTheBuffer) {
  EXPECT_THAT(RefusalOf(StageIn("/a", "$BB_JOB_STRIPED/../other")), HasSubstr("leaves the burst buffer"));
  EXPECT_THAT(RefusalOf(StageIn("/a", "$BB_JOB_STRIPED/x/../../other")), HasSubstr("leaves the burst buffer"));
  EXPECT_THAT(RefusalOf(StageIn("/a", "/etc/passwd")), HasSubstr("not in the burst buffer"));
  EXPECT_THAT(RefusalOf(StageIn("/a", "$HOME/x")), HasSubstr("not in the burst buffer"));
  EXPECT_THAT(RefusalOf(StageIn("/a", "$BB_JOB_STRIPEDX/x")), HasSubstr("not in the burst buffer"));
  EXPECT_THAT(RefusalOf(StageIn("/a", "$BB_JOB_STRIPED")), HasSubstr("names no place"));
  EXPECT_THAT(RefusalOf(StageIn("/a", "$BB_JOB_STRIPED/x/..")), HasSubstr("names no place"));
}

TEST(BufferRequest, RefusesWhatItDoesNotUnderstand) {
  EXPECT_THAT(RefusalOf(StageIn("a", "$BB_JOB_STRIPED/x")), HasSubstr("not absolute"));
  EXPECT_THAT(RefusalOf("#BB_LUA stage_on\n"), HasSubstr("'stage_on' is none of"));
  EXPECT_THAT(RefusalOf("#BB_LUA\tstage_in source=/a destination=$BB_JOB_STRIPED/x\n"), HasSubstr("type= is missing"));
  EXPECT_THAT(RefusalOf("#BB_LUA stage_in type=link source=/a destination=$BB_JOB_STRIPED/x\n"), HasSubstr("'link'"));
  EXPECT_THAT(RefusalOf("#BB_LUA stage_in type=file source=/a source=/b destination=$BB_JOB_STRIPED/x\n"),
              HasSubstr("twice"));
  EXPECT_THAT(RefusalOf("#BB_LUA stage_in type=file source= destination=$BB_JOB_STRIPED/x\n"), HasSubstr("no value"));
  EXPECT_THAT(RefusalOf("#BB_LUA stage_in type=file mode=7 source=/a destination=$BB_JOB_STRIPED/x\n"),
              HasSubstr("'mode'"));
  EXPECT_THAT(RefusalOf("#BB_LUA stage_out type=list source=$BB_JOB_STRIPED/x destination=/b\n"),
              HasSubstr("no lists"));
}

TEST(BufferRequest, LeavesOtherMarksAlone) {
  EXPECT_THAT(ReadBufferRequest("#BB_LUAX stage_on\n#DW nonsense\n#  BB_LUA stage_on\n").in, IsEmpty());
}

/// Whatever can stand in a directive comes out of it as it went in.
TEST(BufferRequest, UnderstandsWhatTheBatchScriptWrites) {
  EXPECT_TRUE(rc::check([] {
    const auto name = rc::gen::nonEmpty(rc::gen::string<std::string>());
    BurstBuffer buffer;
    buffer.kind = BurstBufferKind::kLua;
    buffer.pool = "flash";
    buffer.capacity = Bytes{1};
    buffer.in = {{TransferKind::kFile, "/data/" + *name, "staged/" + *name}};
    buffer.out = {{TransferKind::kDirectory, "/results/" + *name, "out/" + *name}};
    std::string script = "#!/bin/bash\n";
    try {
      for (const auto& line : BurstBufferDirectives(buffer)) script += line + "\n";
    } catch (const Error&) {
      return;  // a path that a directive cannot hold
    }
    try {
      const auto request = ReadBufferRequest(script);
      RC_ASSERT(request.in.size() == 1 && request.out.size() == 1);
      RC_ASSERT(buffer.in[0].outside.lexically_normal() / "" == request.in[0].outside / "");
      RC_ASSERT(std::filesystem::path(buffer.out[0].inside).lexically_normal() / "" ==
                std::filesystem::path(request.out[0].inside) / "");
    } catch (const Error& error) {
      RC_ASSERT(error.kind() == ErrorKind::kUsage);
    }
  }));
}

/// Scripts are anybody's text.
TEST(BufferRequest, NeverCrashes) {
  EXPECT_TRUE(rc::check([](const std::vector<std::string>& lines) {
    std::string script;
    for (const auto& line : lines) script += "#BB_LUA " + line + "\n";
    try {
      ReadBufferRequest(script);
    } catch (const Error& error) {
      RC_ASSERT(error.kind() == ErrorKind::kUsage);
    }
  }));
}

}  // namespace
}  // namespace slipway::launcher
