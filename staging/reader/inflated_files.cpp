#include "staging/reader/inflated_files.h"

#include <algorithm>

#include "staging/formats/tfrecord.h"

namespace slipway::staging {

InflatedFiles::Content InflatedFiles::Get(const std::filesystem::path& path) {
  const auto entry = Find(path);
  const std::lock_guard inflating(entry->inflating);
  if (entry->error) throw Error(*entry->error);
  if (entry->content) return entry->content;
  try {
    const auto content = std::make_shared<const GrowingMemory>(InflateTfrecords(path).frames);
    const std::lock_guard lock(mutex_);
    entry->content = content;
    Shrink();
    return content;
  } catch (const SystemError&) {
    throw;  // it may be readable the next time
  } catch (const Error& error) {
    entry->error = error;
    throw;
  }
}

std::shared_ptr<InflatedFiles::Entry> InflatedFiles::Find(const std::filesystem::path& path) {
  const std::lock_guard lock(mutex_);
  const auto found = std::ranges::find_if(entries_, [&](const auto& entry) { return entry->path == path; });
  if (found != entries_.end()) {
    entries_.splice(entries_.begin(), entries_, found);
  } else {
    entries_.push_front(std::make_shared<Entry>());
    entries_.front()->path = path;
  }
  return entries_.front();
}

/// Drops those used longest ago. The first stays, whatever its size.
void InflatedFiles::Shrink() {
  std::uint64_t bytes = 0;
  for (auto entry = entries_.begin(); entry != entries_.end();) {
    if ((*entry)->content) bytes += (*entry)->content->bytes().size();
    entry = bytes > most_bytes_ && entry != entries_.begin() ? entries_.erase(entry) : std::next(entry);
  }
}

}  // namespace slipway::staging
