/// Writes produced records as samples of a WebDataset.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "staging/convert/record_producer.h"
#include "staging/convert/write_records.h"

namespace slipway::staging {

/// How a field is stored in a sample.
struct SampleMember {
  enum class Form {
    kBytes,
    kInteger,  ///< as text
    kArray     ///< as numpy.save writes it
  };
  std::size_t field = 0;
  std::string name;  ///< the key and a dot stand before it
  Form form = Form::kBytes;

  bool operator==(const SampleMember&) const = default;
};

/// The members of all samples, sorted by name; the field "__key__" is the key. Names and forms follow from the fields
/// and the first record: docs/reference/data-formats.md, "Samples from other formats".
/// Errors: Error(kUsage) for two fields of one name.
std::vector<SampleMember> SampleMembersOf(RecordProducer& source);

/// Records [begin, end) as one shard. Samples of a source that is a WebDataset are copied as they are. Other keys are
/// the numbers of the records, unless there is a field "__key__".
/// Errors: Error(kEnvironment) naming the record: a key that is no path inside an archive, or divides in another place.
void WriteSamples(RecordProducer& source, std::uint64_t begin, std::uint64_t end, const std::filesystem::path& path,
                  const OnRecord& on_record);

}  // namespace slipway::staging
