#include "staging/network/plan_difference.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/fnv1a.h"
#include "staging/network/wire.h"

namespace slipway::staging {
namespace {

constexpr std::size_t kMostNamed = 16'384;
constexpr std::size_t kLongestName = 64;

struct FileMark {
  std::string name;
  std::uint64_t path = 0;
  std::uint64_t size = 0;
  std::uint64_t inode = 0;
  std::int64_t mtime_ns = 0;
};

struct Description {
  std::string name;
  std::string format;
  std::string verify;
  std::uint32_t readers = 0;
  std::uint64_t order = 0;
  std::uint64_t files = 0;
  std::uint64_t bytes = 0;
  std::vector<FileMark> marks;
};

std::uint64_t HashOf(const std::vector<std::size_t>& order) {
  WireWriter writer;
  for (const auto index : order) writer.Number(static_cast<std::uint64_t>(index));
  return Fnv1a64(writer.bytes());
}

Description Read(std::string_view text) {
  WireReader reader(text);
  Description plan;
  plan.name = reader.Text();
  plan.format = reader.Text();
  plan.verify = reader.Text();
  plan.readers = reader.Number<std::uint32_t>();
  plan.order = reader.Number<std::uint64_t>();
  plan.files = reader.Number<std::uint64_t>();
  plan.bytes = reader.Number<std::uint64_t>();
  while (reader.good() && !reader.rest().empty()) {
    FileMark mark;
    mark.name = reader.Text();
    mark.path = reader.Number<std::uint64_t>();
    mark.size = reader.Number<std::uint64_t>();
    mark.inode = reader.Number<std::uint64_t>();
    mark.mtime_ns = reader.Number<std::int64_t>();
    if (reader.good()) plan.marks.push_back(std::move(mark));
  }
  return plan;
}

/// What differs between two states of a file, or "".
std::string Difference(const FileMark& own, const FileMark& other) {
  if (own.name != other.name) return fmt::format("file '{}' here is file '{}' there", own.name, other.name);
  if (own.path != other.path) return fmt::format("file '{}' has another path there", own.name);
  if (own.size != other.size) {
    return fmt::format("file '{}' has {} bytes here and {} there", own.name, own.size, other.size);
  }
  if (own.mtime_ns != other.mtime_ns) return fmt::format("file '{}' has another modification time there", own.name);
  if (own.inode != other.inode) return fmt::format("file '{}' has another inode number there", own.name);
  return {};
}

}  // namespace

Digest PlanDigest(const StagingPlan& plan, const std::vector<std::size_t>& order, std::uint32_t readers) {
  return DigestOf(WireWriter().Text(plan.generation).Number(readers).Number(HashOf(order)).bytes());
}

std::string DescribePlan(const StagingPlan& plan, const std::vector<std::size_t>& order, std::uint32_t readers) {
  WireWriter writer;
  writer.Text(plan.request.name).Text(WordOf(plan.request.format)).Text(WordOf(plan.request.verify));
  writer.Number(readers).Number(HashOf(order)).Number(std::uint64_t{plan.files.size()}).Number(plan.total.count);
  for (std::size_t i = 0; i < std::min(plan.files.size(), kMostNamed); ++i) {
    const auto& file = plan.files[i];
    writer.Text(std::string_view(file.name.native()).substr(0, kLongestName)).Number(Fnv1a64(file.path.native()));
    writer.Number(file.size.count).Number(file.inode).Number(file.mtime_ns);
  }
  return writer.bytes();
}

std::string PlanDifference(std::string_view own_text, std::string_view other_text) {
  const auto own = Read(own_text);
  const auto other = Read(other_text);
  if (own.name != other.name) return fmt::format("the dataset is '{}' here and '{}' there", own.name, other.name);
  if (own.format != other.format) return fmt::format("the format is {} here and {} there", own.format, other.format);
  if (own.verify != other.verify) return fmt::format("verify is {} here and {} there", own.verify, other.verify);
  if (own.readers != other.readers) return fmt::format("{} nodes read here and {} there", own.readers, other.readers);
  for (std::size_t i = 0; i < std::min(own.marks.size(), other.marks.size()); ++i) {
    if (auto difference = Difference(own.marks[i], other.marks[i]); !difference.empty()) return difference;
  }
  if (own.files != other.files) return fmt::format("there are {} files here and {} there", own.files, other.files);
  if (own.order != other.order) return "the order of the files is another one there";
  return fmt::format("the files differ beyond the first {}", own.marks.size());
}

}  // namespace slipway::staging
