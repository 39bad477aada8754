/// Helpers for calls of libslurm: its errors, and the memory that it returns.
#pragma once

#include <slurm/slurm.h>
#include <slurm/slurm_errno.h>

#include <cerrno>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>

#include "launcher/cluster/slurm_trouble.h"

namespace slipway::launcher {

/// The configuration that slurm_init has read; null where the library does not expose it.
const slurm_conf_t* LoadedConfiguration();

/// The cluster's name in slurm.conf; empty where the library does not expose it. No RPC.
std::string ClusterName();

/// The kind of trouble that a code of slurm_errno.h means.
SlurmTrouble TroubleOf(int code);

/// Whether a job with this code is not refused: a submission puts it into the queue, where it waits.
bool MeansWaiting(int code);

/// Throws SlurmError when `result` is not success. Some calls return the code, others -1 and set errno.
void CheckSlurm(int result, std::string_view during);

inline std::string TextOf(const char* text) { return text == nullptr ? std::string() : std::string(text); }

/// Frees what a loading call returned.
template <class Message, void (*free)(Message*)>
struct SlurmFree {
  void operator()(Message* message) const { free(message); }
};
template <class Message, void (*free)(Message*)>
using SlurmMessage = std::unique_ptr<Message, SlurmFree<Message, free>>;

/// Runs `load(&message)` and owns the result.
template <class Message, void (*free)(Message*), class Load>
SlurmMessage<Message, free> LoadFromSlurm(std::string_view during, Load load) {
  Message* message = nullptr;
  errno = 0;
  CheckSlurm(load(&message), during);
  return SlurmMessage<Message, free>(message);
}

struct DestroyList {
  void operator()(List list) const { slurm_list_destroy(list); }
};
using OwnedList = std::unique_ptr<std::remove_pointer_t<List>, DestroyList>;

/// Calls `act` with each record of a list of libslurm; null: an empty one.
template <class Record, class Act>
void ForEachIn(List list, Act act) {
  if (list == nullptr) return;
  auto* const iterator = slurm_list_iterator_create(list);
  while (const auto* record = static_cast<const Record*>(slurm_list_next(iterator))) act(*record);
  slurm_list_iterator_destroy(iterator);
}

}  // namespace slipway::launcher
