#include "staging/generation/resume.h"

#include <fmt/format.h>

#include <iterator>

#include "core/crc32c.h"
#include "staging/dataset/append_text.h"

namespace slipway::staging {
namespace {

/// Over everything that tells one plan's files from another's: a generation's name alone is no proof.
std::uint32_t CrcOf(const StagingPlan& plan) {
  std::uint32_t crc = Crc32c(fmt::format("{} {}", WordOf(plan.request.format), plan.generation));
  std::string text;
  for (const auto& file : plan.files) {
    text = file.path.native();
    text.append("\n").append(file.name.native()) += '\n';
    AppendNumber(text, file.size.count);
    AppendNumber(text += ' ', file.mtime_ns);
    AppendNumber(text += ' ', file.inode);
    crc = Crc32c(text += '\n', crc);
  }
  return crc;
}

JournalHead HeadFor(const StagingPlan& plan) { return {CrcOf(plan), plan.files.size()}; }

/// Builds the kept files from the entries, in their order.
class KeptFiles {
 public:
  explicit KeptFiles(const StagingPlan& plan) : plan_(plan), kept_(plan.files.size()) {}

  void operator()(const JournalHead&) {}
  void operator()(const JournalStart& start) {
    if (start.file >= kept_.size()) return;
    auto& file = kept_[start.file];
    file = {start.ctime_ns, {}, {}};
    file.crc32c.resize(CrcBlocksOf(plan_.files[start.file].size));
  }
  void operator()(const JournalBlock& block) {
    if (block.file >= kept_.size() || block.block >= kept_[block.file].crc32c.size()) return;
    kept_[block.file].crc32c[block.block] = block.crc32c;
  }
  void operator()(const JournalDone& done) {
    if (done.file >= kept_.size()) return;
    auto& file = kept_[done.file];
    if (done.crc32c.size() != file.crc32c.size()) return;
    file.crc32c.assign(done.crc32c.begin(), done.crc32c.end());
    file.complete = CopiedFile{done.crc32c, done.records, done.offsets, done.end};
  }
  std::vector<KeptFile> Take() { return std::move(kept_); }

 private:
  const StagingPlan& plan_;
  std::vector<KeptFile> kept_;
};

}  // namespace

Leftover ReadLeftover(const std::filesystem::path& directory, const StagingPlan& plan) {
  JournalReader reader(directory / kJournalName);
  const auto entries = reader.Next();
  if (entries.empty() || entries.front() != JournalEntry(HeadFor(plan))) return {};
  KeptFiles kept(plan);
  for (const auto& entry : entries) std::visit(kept, entry);
  return {kept.Take(), reader.consumed()};
}

JournalArrivals::JournalArrivals(const std::filesystem::path& directory, const StagingPlan& plan,
                                 const Leftover& leftover, const Ownership& owner)
    : writer_(directory / kJournalName, HeadFor(plan), leftover.journal_bytes), owner_(owner) {}

void JournalArrivals::FileStarted(std::size_t file, std::int64_t source_ctime_ns) {
  owner_.Check();
  writer_.Append(JournalStart{file, source_ctime_ns});
}

void JournalArrivals::BlockDone(std::size_t file, std::uint64_t block, std::uint32_t crc32c) {
  owner_.Check();
  writer_.Append(JournalBlock{file, block, crc32c});
}

void JournalArrivals::FileDone(std::size_t file, const CopiedFile& copied) {
  owner_.Check();
  writer_.Append(JournalDone{file, copied.records, copied.crc32c, copied.record_offsets, copied.record_bytes});
  if (at_once_) writer_.Flush();
}

}  // namespace slipway::staging
