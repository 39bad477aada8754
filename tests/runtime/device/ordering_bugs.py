"""Ordering bugs of the exchange of GPU tensors, for planted_bugs.py.

Each entry replaces a text that occurs once in a file. The name says what the changed code does.
"""

import dataclasses


@dataclasses.dataclass(frozen=True)
class Bug:
    name: str
    file: str
    old: str
    new: str
    variables: tuple = ()  # of the environment, with their values
    test: str = ""  # of ctest, which has to catch it; empty: that of CAUGHT_BY
    tests: str = ""  # of its program; empty: those of TESTS, or of the test itself


# Ranks on two pretended nodes, and jobs that fail.
IN_NODES = "runtime_nccl_tests.4"
USERS_OF_NCCL = "runtime_gpu_allreduce_tests.3"
ON_ONE_RANK = "runtime_gpu_allreduce_tests.1"
NO_CONNECTION = "runtime_gpu_faults_tests.nccl.AutoDoesWithoutWhereRanksDoNotConnect"
HANG = "runtime_gpu_faults_tests.nccl.AHangIsEndedByForce"
NCCL_ERROR = "runtime_gpu_faults_tests.nccl.AnAsynchronousErrorEndsTheTeam"
LATE_AT_THE_END = "runtime_gpu_faults_tests.allreduces.ThatFailLaterShowAtTheEnd"
COPY_AT_A_CHECKPOINT = "runtime_gpu_faults_tests.allreduces.ThatFailAfterTheSumsShowBeforeACheckpoint"
LATE_AT_A_CHECKPOINT = "runtime_gpu_faults_tests.allreduces.ThatFailLaterShowBeforeACheckpoint"
COPY_TO_THE_CPU = "runtime_device_faults_tests.ACopyToTheCpuThatFailsLeavesNoneBehind"
COPY_TO_THE_GPU = "runtime_device_faults_tests.ACopyToTheGpuThatFailsLeavesNoneBehind"

STREAM = "runtime/device/stream.cpp"
KERNEL = "runtime/device/sum_kernel.cpp"
BENCH = "runtime/device/workbench.cpp"
IMAGES = "runtime/exchange/device_images.cpp"
ARRIVALS = "runtime/exchange/arrivals.cpp"
JOINED = "runtime/exchange/bucket_exchange.cpp"
MPI_RANKS = "runtime/exchange/mpi_ranks.cpp"
MPI = "runtime/exchange/mpi_tensors.cpp"
CALLS = "runtime/group/blocking_calls.cpp"
DIRECT = "runtime/exchange/direct_tensors.cpp"
STEP_EVENTS = "runtime/exchange/step_events.cpp"
SHARED_EVENTS = "runtime/exchange/shared_events.cpp"
NCCL_RANKS = "runtime/exchange/nccl_ranks.cpp"
NCCL = "runtime/exchange/nccl_tensors.cpp"
NCCL_IN_NODES = "runtime/exchange/nccl_in_nodes.cpp"
LIBRARY_ALLREDUCE = "runtime/exchange/library_allreduce.cpp"
NCCL_USE = "runtime/exchange/nccl_use.cpp"
BOUNCE = "runtime/exchange/direct_bounce.cpp"
PARTS = "runtime/exchange/allreduce_through_cpu.cpp"
WAYS = "runtime/exchange/allreduce_ways.cpp"
SHARES = "runtime/exchange/shares.cpp"
CPU = "runtime/exchange/cpu_images.cpp"
TEAM_DEVICE = "runtime/exchange/team_device.cpp"
TEAM = "runtime/exchange/team.cpp"

# What runs. Where a way is named, messages do not go by times.
USUAL = "runtime_device_tests.2"
CAUGHT_BY = {BOUNCE: "runtime_device_tests.direct.2", PARTS: "runtime_device_tests.direct.2"}

# Which tests run, where not all: those of long messages take seconds, and these files have no part in them.
WITHOUT_LONG_MESSAGES = "-*.ALong*"
TEAMS = "-*Allreduce*"
TESTS = {STREAM: WITHOUT_LONG_MESSAGES, KERNEL: WITHOUT_LONG_MESSAGES, BENCH: WITHOUT_LONG_MESSAGES,
         CPU: WITHOUT_LONG_MESSAGES, SHARES: WITHOUT_LONG_MESSAGES, IMAGES: TEAMS, ARRIVALS: TEAMS,
         STEP_EVENTS: TEAMS, SHARED_EVENTS: TEAMS,
         JOINED: TEAMS, MPI_RANKS: TEAMS, MPI: TEAMS, CALLS: TEAMS, DIRECT: TEAMS, NCCL_RANKS: TEAMS, NCCL: TEAMS,
         TEAM_DEVICE: TEAMS, TEAM: TEAMS}

# Programs of which each process runs one test: it joins a job, and does so only once.
ONE_TEST_EACH = ("runtime_gpu_faults_tests", "runtime_device_faults_tests")

BY_EVENTS = (("SLIPWAY_GPU_WAIT", "events"),)
NODES = "NcclInNodes.*"
SINGLES_BETWEEN_NODES = "GpuAllreducesBetweenNodes.*"
USERS = "NcclUses.*"
SINGLE = "*ByEvents.*:-*.ALong*"

BUGS = [
    # Streams and what several operations share.
    Bug("join_records_only_once", STREAM,
        "    point = points_.end() - 1;\n  }\n  point->stream = stream;\n  point->event.Record(handle);\n",
        "    point = points_.end() - 1;\n    point->event.Record(handle);\n  }\n  point->stream = stream;\n"),
    Bug("join_waits_for_one_stream", STREAM,
        "point.event.HoldBack(handle);\n  }\n", "return point.event.HoldBack(handle);\n  }\n"),
    Bug("join_takes_streams_of_threads_for_one", STREAM,
        "thread_local const std::uint64_t number", "static const std::uint64_t number",
        tests="*WaitsForTheStreamsOfAllThreads*"),
    Bug("stream_ends_before_its_copies", STREAM, "    driver.cuStreamSynchronize(handle_);\n", "", test=ON_ONE_RANK,
        tests="Benches.Streams*"),
    Bug("event_is_reached_at_once", STREAM,
        "if (code == kNotReady) return false;", "if (code == kNotReady) return true;"),
    Bug("managed_memory_is_read_at_once", SHARES, "  AwaitWork(*place, stream, waiter);\n", ""),
    Bug("work_is_awaited_on_the_default_stream", SHARES, "  point.Record(stream);\n", "  point.Record(nullptr);\n"),
    Bug("bench_for_two_operations", BENCH,
        "  auto bench = std::move(*chosen);\n  free_.erase(chosen);\n  return bench;\n",
        "  return std::unique_ptr<Workbench>(chosen->get());\n"),
    Bug("bench_is_too_small", BENCH, "bench->place == place && bench->bytes >= bytes", "bench->place == place"),
    Bug("kernel_on_default_stream", KERNEL, "stream.handle(), parameters", "nullptr, parameters"),

    # A team's tensors through the CPU.
    Bug("fetch_ignores_program_stream", IMAGES, "  made_.HoldBack(to_cpu_.handle());\n", ""),
    Bug("fetch_records_default_stream", IMAGES, "made_.Record(stream);", "made_.Record(nullptr);"),
    Bug("fetch_waits_before_it_records", IMAGES,
        "  made_.Record(stream);\n  made_.HoldBack(to_cpu_.handle());\n",
        "  made_.HoldBack(to_cpu_.handle());\n  made_.Record(stream);\n"),
    Bug("fetch_ignores_last_release", IMAGES,
        "  if (std::exchange(released_, false)) stored_.HoldBack(to_cpu_.handle());\n", ""),
    Bug("arrived_recorded_before_copy", IMAGES,
        "void DeviceImages::FetchTogether(std::span<const int> images) {\n",
        "void DeviceImages::FetchTogether(std::span<const int> images) {\n"
        "  arrivals_.Add(images, to_cpu_.handle());\n  if (!images.empty()) return;\n"),
    Bug("copies_join_what_does_not_meet", IMAGES,
        "if (joined && together.image + together.bytes == range.image) {", "if (joined) {"),
    Bug("copies_join_regions", IMAGES, "range.region == together.region", "range.region <= together.region"),
    Bug("store_on_fetching_stream", IMAGES, "to_device_.CopyToDevice(", "to_cpu_.CopyToDevice("),
    Bug("release_forgets_program_stream", IMAGES, "  stored_.HoldBack(stream);\n", ""),
    Bug("release_records_fetching_stream", IMAGES,
        "stored_.Record(to_device_.handle());", "stored_.Record(to_cpu_.handle());"),
    Bug("staged_call_without_stream_ends_early", IMAGES, "  AwaitPoint(stored_, waiter);\n", ""),
    Bug("images_share_memory", IMAGES,
        "    block += tensor.bytes();\n", "    block += tensor.bytes() / 2;\n"),
    Bug("parts_of_a_tensor_share_memory", IMAGES, "    range.image += range.bytes;\n", ""),

    # A team's tensors that the GPUs combine.
    Bug("direct_sums_before_others_have_values", DIRECT,
        "  group.channel()->Meet(call);  // all have their values, or have recorded their events\n",
        ""),
    Bug("direct_returns_before_others_have_summed", DIRECT,
        "  group.channel()->Meet(last);  // all have their sums, or have recorded their events\n", ""),
    Bug("direct_ignores_its_kernel", DIRECT, "      AwaitPoint(done(), group.communicator().waiter());\n", ""),
    Bug("direct_ends_a_step_before_its_last_kernel", DIRECT,
        "  kernel_.Launch(table, call.reduction.dtype, op_ == SLIPWAY_MEAN ? ranks_ : 1, sums());\n"
        "  if (bucket + 1 == buckets_.size()) EndStep(call, group);\n",
        "  if (bucket + 1 == buckets_.size()) EndStep(call, group);\n"
        "  kernel_.Launch(table, call.reduction.dtype, op_ == SLIPWAY_MEAN ? ranks_ : 1, sums());\n"),
    Bug("direct_ends_a_step_at_its_first_bucket", DIRECT,
        "if (bucket + 1 == buckets_.size()) EndStep(call, group);", "if (bucket == 0) EndStep(call, group);"),
    Bug("direct_records_default_stream", DIRECT,
        "      done().Record(sums().handle());\n", "      done().Record(nullptr);\n"),
    Bug("arrivals_ignore_program_stream", ARRIVALS, "free_.back().Record(stream);", "free_.back().Record(nullptr);"),
    Bug("value_taken_before_it_arrived", ARRIVALS, "    if (!next.made.Reached()) return std::nullopt;\n", ""),
    Bug("arrivals_use_an_event_twice", ARRIVALS,
        "  free_.pop_back();\n",
        "  free_.pop_back();\n  if (coming_.size() > 1) free_.push_back(std::move(coming_.front().made));\n"),

    # The same, where GPUs wait for each other by events.
    Bug("events_sums_do_not_wait_for_values", STEP_EVENTS, "  events_->HoldBack(bucket, sums);\n", "", BY_EVENTS),
    Bug("events_program_does_not_wait_for_sums", STEP_EVENTS, "  events_->HoldBack(sums(), stream);\n", "", BY_EVENTS),
    Bug("events_release_is_forgotten", DIRECT, "  events_->Release(stream);\n", "", BY_EVENTS),
    Bug("events_wait_for_own_gpu_only", SHARED_EVENTS,
        "Of(rank, event).HoldBack(stream);", "own_[event].HoldBack(stream);", BY_EVENTS),
    Bug("events_sums_recorded_before_the_last_kernel", DIRECT,
        "  kernel_.Launch(table, call.reduction.dtype, op_ == SLIPWAY_MEAN ? ranks_ : 1, sums());\n"
        "  if (bucket + 1 == buckets_.size()) EndStep(call, group);\n",
        "  if (bucket + 1 == buckets_.size()) EndStep(call, group);\n"
        "  kernel_.Launch(table, call.reduction.dtype, op_ == SLIPWAY_MEAN ? ranks_ : 1, sums());\n", BY_EVENTS),
    Bug("events_values_recorded_on_default_stream", STEP_EVENTS,
        "return event.Record(stream);", "return event.Record(nullptr);", BY_EVENTS),
    Bug("events_forget_the_first_of_several_streams", STEP_EVENTS,
        "  event.HoldBack(join_.handle());\n", "", BY_EVENTS),
    Bug("events_forget_the_last_of_several_streams", STEP_EVENTS,
        "  point_.HoldBack(join_.handle());\n", "", BY_EVENTS),
    Bug("events_streams_of_threads_are_one", STREAM,
        "thread_local const std::uint64_t number", "static const std::uint64_t number", BY_EVENTS,
        tests="*WaitForTheStreamsOfAllThreadsThatMake*"),
    Bug("events_wait_of_a_thread_is_forgotten", STEP_EVENTS,
        "[](const Released& each) { return each.waited.Reached(); }", "[](const Released&) { return true; }",
        BY_EVENTS, tests="*AwaitTheStreamsOfAllThreadsBefore*"),
    Bug("events_first_meeting_is_left_out", DIRECT,
        "  group.channel()->Meet(call);  // all have their values, or have recorded their events\n",
        "", BY_EVENTS),
    Bug("events_last_meeting_is_left_out", DIRECT,
        "  group.channel()->Meet(last);  // all have their sums, or have recorded their events\n", "",
        BY_EVENTS),
    Bug("events_are_destroyed_while_others_have_them", SHARED_EVENTS,
        "  for (auto& event : own_) KeptEvents::The().Keep(place_, std::move(event));\n", "  own_.clear();\n",
        BY_EVENTS),
    Bug("events_wait_without_stream_ends_early", DIRECT,
        "  events_->Await(waiter);\n", "", BY_EVENTS),

    # A team's tensors that MPI combines.
    Bug("mpi_packs_without_waiting", MPI, "    to += bytes;\n  }\n  AwaitCopies();\n", "    to += bytes;\n  }\n"),
    Bug("mpi_begins_before_it_packs", MPI,
        "  if (packed) Pack(bucket);\n  ranks_->AddUp(bucket.data, call.count, call.reduction.dtype);\n",
        "  ranks_->AddUp(bucket.data, call.count, call.reduction.dtype);\n  if (packed) Pack(bucket);\n"),
    Bug("mpi_does_not_unpack", MPI,
        "  if (packed) Unpack(bucket);\n  if (packed || bucket.whole)",
        "  if (packed || bucket.whole)"),
    Bug("mpi_ignores_its_quotient", MPI, "  if (packed || bucket.whole) AwaitCopies();\n", ""),
    Bug("mpi_call_is_not_waited_for", CALLS,
        "return shared_->done.load(std::memory_order_acquire); }", "return true; }"),
    Bug("mpi_call_without_a_context", MPI_RANKS,
        "      const InContext here(place);\n      CheckMpi(", "      CheckMpi("),

    # A team's tensors that NCCL combines.
    Bug("nccl_uses_default_stream", NCCL, "call.reduction, sums().handle());", "call.reduction, nullptr);"),
    Bug("nccl_records_before_its_sums", NCCL,
        "  ranks_->AllReduce(pieces, call.reduction, sums().handle());\n  done().Record(sums().handle());\n",
        "  done().Record(sums().handle());\n  ranks_->AllReduce(pieces, call.reduction, sums().handle());\n"),
    Bug("nccl_ignores_its_sums", NCCL_RANKS, "    if (point.Reached()) return true;\n", "    return true;\n"),
    Bug("nccl_takes_begun_for_launched", NCCL_RANKS, "    if (code == Nccl::kInProgress) Settle(call);\n", ""),
    Bug("nccl_pieces_without_a_group", NCCL_RANKS,
        "    int code = nccl_.ncclGroupStart();\n", "    int code = Nccl::kSuccess;\n", tests="Nccl.*"),
    Bug("nccl_group_is_not_ended", NCCL_RANKS,
        "    const int ended = nccl_.ncclGroupEnd();\n", "    const int ended = code;\n", tests="Nccl.*"),
    Bug("nccl_hang_is_not_aborted", NCCL_RANKS,
        "  } catch (...) {  // the watch, or the device\n    Abort();\n    throw;\n",
        "  } catch (...) {  // the watch, or the device\n    throw;\n", test=HANG),
    Bug("nccl_error_is_not_aborted", NCCL_RANKS,
        "    Abort();\n    const auto end = Clock::now() + kTimeToName;\n",
        "    const auto end = Clock::now() + kTimeToName;\n", test=NCCL_ERROR),
    Bug("nccl_end_has_no_limit", NCCL_RANKS, "    std::thread(call).detach();\n", "    call();\n", test=HANG),
    Bug("nccl_end_disturbs_captures", NCCL_RANKS, "    const BesideCaptures beside(place.driver);\n", "", test=HANG),
    Bug("nccl_connects_without_a_limit", NCCL_RANKS, " || Clock::now() > end; }", "; }", test=NO_CONNECTION),
    Bug("nccl_has_two_users", NCCL_USE, "users == 1", "users > 0", test=USERS_OF_NCCL, tests=USERS),
    Bug("nccl_users_do_not_agree", NCCL_USE, "!OnEveryRank(ranks, users == 1)", "users != 1", test=USERS_OF_NCCL,
        tests=USERS),
    Bug("joins_what_has_a_gap_elsewhere", JOINED,
        "    here = static_cast<char>(here & of_all[i]);\n", "    here = static_cast<char>(here | of_all[i]);\n"),

    # The same within nodes, with the CPU between them.
    Bug("nodes_scatter_before_values_arrived", ARRIVALS,
        "    if (!next.made.Reached()) return std::nullopt;\n", "", test=IN_NODES, tests=NODES),
    Bug("nodes_scatter_before_it_packs", NCCL_IN_NODES,
        "    to += BytesOf(piece.count, element);\n  }\n"
        "  ranks_->ReduceScatter(travel_->block.data(), share, call.reduction, stream.handle());\n",
        "    if (to == travel_->block.data()) {\n"
        "      ranks_->ReduceScatter(travel_->block.data(), share, call.reduction, stream.handle());\n    }\n"
        "    to += BytesOf(piece.count, element);\n  }\n", test=IN_NODES, tests=NODES),
    Bug("nodes_scatter_on_default_stream", NCCL_IN_NODES,
        "ranks_->ReduceScatter(travel_->block.data(), share, call.reduction, stream.handle());",
        "ranks_->ReduceScatter(travel_->block.data(), share, call.reduction, nullptr);", test=IN_NODES, tests=NODES),
    Bug("nodes_scatter_to_the_first_share", NCCL_RANKS,
        "  char* own = data + BytesOf(share * rank(), SizeOf(reduction.dtype));\n", "  char* own = data;\n",
        test=IN_NODES, tests=NODES),
    Bug("nodes_take_the_first_share", NCCL_IN_NODES,
        "CopyToCpu(travel_->image.data(), OwnShare(call),", "CopyToCpu(travel_->image.data(), travel_->block.data(),",
        test=IN_NODES, tests=NODES),
    Bug("nodes_use_a_share_before_its_copy", NCCL_IN_NODES,
        "  ScatterSums(pieces, call, stream);\n  Await(stream, done);\n", "  ScatterSums(pieces, call, stream);\n",
        test=IN_NODES, tests=NODES),
    Bug("nodes_record_default_stream", NCCL_IN_NODES,
        "  done.Record(stream.handle());\n", "  done.Record(nullptr);\n", test=IN_NODES, tests=NODES),
    Bug("nodes_gather_before_the_copy_back", NCCL_IN_NODES,
        "  stream.CopyToDevice(OwnShare(call), travel_->image.data(), BytesOf(share, element));\n"
        "  ranks_->AllGather(travel_->block.data(), share, call.reduction.dtype, stream.handle());\n",
        "  ranks_->AllGather(travel_->block.data(), share, call.reduction.dtype, stream.handle());\n"
        "  stream.CopyToDevice(OwnShare(call), travel_->image.data(), BytesOf(share, element));\n",
        test=IN_NODES, tests=NODES),
    Bug("nodes_gather_on_default_stream", NCCL_IN_NODES,
        "ranks_->AllGather(travel_->block.data(), share, call.reduction.dtype, stream.handle());",
        "ranks_->AllGather(travel_->block.data(), share, call.reduction.dtype, nullptr);", test=IN_NODES, tests=NODES),
    Bug("nodes_return_before_the_sums_are_there", NCCL_IN_NODES,
        "  GatherResult(pieces, call, stream);\n  Await(stream, done);\n", "  GatherResult(pieces, call, stream);\n",
        test=IN_NODES, tests=NODES),
    Bug("nodes_block_holds_one_share", NCCL_IN_NODES,
        "place_, share * ranks_->size(), share, group_", "place_, share, share, group_", test=IN_NODES, tests=NODES),
    Bug("single_in_nodes_ignores_program_stream", LIBRARY_ALLREDUCE,
        "  AwaitValues(stream, group.communicator().waiter());\n  const auto element",
        "  const auto element", test=IN_NODES, tests=SINGLES_BETWEEN_NODES),
    Bug("single_in_nodes_takes_the_first_part_twice", LIBRARY_ALLREDUCE,
        "const Piece part{data + BytesOf(first, element), ", "const Piece part{data, ", test=IN_NODES,
        tests=SINGLES_BETWEEN_NODES),

    # Allreduce by the GPUs.
    Bug("bounce_ignores_program_stream", BOUNCE, "  made_.HoldBack(stream_.handle());\n", ""),
    Bug("bounce_meets_before_its_copy", BOUNCE,
        "  if (spread.bounced) CopyToBlock(data, call);\n  AnnounceValues();\n",
        "  AnnounceValues();\n  if (spread.bounced) CopyToBlock(data, call);\n"),
    Bug("bounce_meets_before_the_program_is_done", BOUNCE,
        "  AnnounceValues();\n  channel.Meet(call, where);\n", "  channel.Meet(call, where);\n"),
    Bug("bounce_takes_its_block_for_the_others_place", BOUNCE,
        "    if (found != nullptr) spread.at[static_cast<std::size_t>(rank)] = found;\n", ""),
    Bug("bounce_records_before_its_kernel", BOUNCE,
        "    Await();\n  }\n  group.channel()", "    AwaitPoint(point_, members_.waiter());\n  }\n  group.channel()"),
    Bug("bounce_ignores_its_kernel", BOUNCE,
        "    Await();\n  }\n  group.channel()", "  }\n  group.channel()"),
    Bug("bounce_copies_back_before_others_have_summed", BOUNCE,
        "  group.channel()->Meet(call);\n", ""),
    Bug("bounce_forgets_program_stream", BOUNCE, "  point_.HoldBack(stream);\n", ""),
    Bug("bounce_reuses_point_of_its_kernel", BOUNCE,
        "  point_.Record(stream_.handle());\n  point_.HoldBack(stream);\n", "  point_.HoldBack(stream);\n"),

    # The same, alone on the GPUs: they wait for each other by events.
    Bug("alone_ignores_program_stream", BOUNCE, "  made_.HoldBack(stream_.handle());\n", "", BY_EVENTS,
        tests=SINGLE),
    Bug("alone_values_are_not_announced", BOUNCE,
        "  if (events_ != nullptr) return events_->Made(0, stream_.handle());\n",
        "  if (events_ != nullptr) return;\n", BY_EVENTS, tests=SINGLE),
    Bug("alone_announces_values_before_their_copy", BOUNCE,
        "  if (spread.bounced) CopyToBlock(data, call);\n  AnnounceValues();\n",
        "  AnnounceValues();\n  if (spread.bounced) CopyToBlock(data, call);\n", BY_EVENTS, tests=SINGLE),
    Bug("alone_second_copy_is_not_announced", BOUNCE,
        "    CopyToBlock(data, call);\n    AnnounceValues();\n", "    CopyToBlock(data, call);\n", BY_EVENTS,
        tests=SINGLE),
    Bug("alone_sums_do_not_wait_for_values", BOUNCE,
        "  if (events_ != nullptr) events_->AwaitValues(0, stream_.handle());\n", "", BY_EVENTS, tests=SINGLE),
    Bug("alone_waits_for_values_after_its_kernel", BOUNCE,
        "  if (events_ != nullptr) events_->AwaitValues(0, stream_.handle());\n"
        "  kernel_.Launch(table, call.reduction.dtype, call.reduction.op == SLIPWAY_MEAN ? ranks_ : 1, stream_);\n",
        "  kernel_.Launch(table, call.reduction.dtype, call.reduction.op == SLIPWAY_MEAN ? ranks_ : 1, stream_);\n"
        "  if (events_ != nullptr) events_->AwaitValues(0, stream_.handle());\n", BY_EVENTS, tests=SINGLE),
    Bug("alone_sums_are_not_recorded", BOUNCE, "    events_->Summed(stream_.handle());\n", "", BY_EVENTS,
        tests=SINGLE),
    Bug("alone_sums_recorded_before_the_kernel", BOUNCE,
        "  kernel_.Launch(table, call.reduction.dtype, call.reduction.op == SLIPWAY_MEAN ? ranks_ : 1, stream_);\n"
        "  EndSums(call, group);\n",
        "  EndSums(call, group);\n"
        "  kernel_.Launch(table, call.reduction.dtype, call.reduction.op == SLIPWAY_MEAN ? ranks_ : 1, stream_);\n",
        BY_EVENTS, tests=SINGLE),
    Bug("alone_last_meeting_is_left_out", BOUNCE, "  group.channel()->Meet(call);\n", "", BY_EVENTS),
    Bug("alone_release_is_forgotten", BOUNCE,
        "  if (events_ != nullptr) events_->Release(stream_.handle());\n", "", BY_EVENTS, tests=SINGLE),
    Bug("alone_copies_back_before_others_have_summed", BOUNCE,
        "  if (events_ != nullptr) events_->Release(stream_.handle());\n",
        "  if (events_ != nullptr) events_->Release(table_copies_.handle());\n", BY_EVENTS, tests=SINGLE),
    Bug("alone_program_is_not_held_back", BOUNCE, "  point_.HoldBack(stream);\n", "", BY_EVENTS, tests=SINGLE),
    Bug("alone_program_waits_for_an_old_point", BOUNCE,
        "  point_.Record(stream_.handle());\n  point_.HoldBack(stream);\n", "  point_.HoldBack(stream);\n", BY_EVENTS,
        tests=SINGLE),
    Bug("alone_refusal_leaves_a_copy_behind", BOUNCE,
        "    HandBack(stream);\n    throw;\n", "    throw;\n", BY_EVENTS, tests=SINGLE),
    Bug("alone_cpu_waits_for_its_sums", BOUNCE,
        "    events_->Summed(stream_.handle());\n",
        "    events_->Summed(stream_.handle());\n    Await();\n", BY_EVENTS, tests=SINGLE),
    Bug("alone_unmaps_blocks_before_the_sums", BOUNCE,
        "  Parting([&] { AwaitWhatReturned(members_.waiter()); });\n", "", test=LATE_AT_THE_END),
    Bug("alone_checkpoint_ignores_copies_back", BOUNCE,
        "  AwaitPoint(point_, waiter);  // copies back\n", "", test=COPY_AT_A_CHECKPOINT),
    Bug("alone_writes_tables_that_kernels_read", BOUNCE,
        "std::move(at)}, [this] { Await(); });", "std::move(at)}, [] {});", BY_EVENTS, tests=SINGLE),
    Bug("alone_is_no_part_of_a_checkpoint", WAYS,
        "  for (const auto& each : made_) each.by->AwaitSums(waiter);\n", "", test=LATE_AT_A_CHECKPOINT),

    # Allreduce part by part through the CPU.
    Bug("part_ignores_program_stream", PARTS, "    bench_.made.HoldBack(bench_.to_cpu.handle());\n", ""),
    Bug("part_ignores_earlier_operation", PARTS,
        "    bench_.done.HoldBack(bench_.to_cpu.handle());  // an earlier operation may still read the slots\n", ""),
    Bug("part_reuses_slot_before_its_store", PARTS,
        "      bench_.stored[Slot(part)].HoldBack(bench_.to_cpu.handle());\n", ""),
    Bug("part_waits_for_wrong_slot", PARTS,
        "bench_.stored[Slot(part)].HoldBack", "bench_.stored[Slot(part + 1)].HoldBack"),
    Bug("parts_share_a_slot", PARTS, "% Workbench::kSlots; }", "% (Workbench::kSlots - 1); }"),
    Bug("part_combined_before_it_arrived", PARTS,
        "    AwaitPoint(bench_.arrived[Slot(part)], group_.communicator().waiter());\n", ""),
    Bug("part_stored_event_of_other_stream", PARTS,
        "bench_.stored[Slot(part)].Record(bench_.to_device.handle());",
        "bench_.stored[Slot(part)].Record(bench_.to_cpu.handle());"),
    Bug("part_stored_before_it_is_combined", PARTS,
        "      Combine(part);\n      Store(part);\n", "      Store(part);\n      Combine(part);\n"),
    Bug("part_forgets_program_stream", PARTS, "    bench_.done.HoldBack(stream);\n", ""),
    Bug("part_does_not_record_its_end", PARTS, "    bench_.done.Record(bench_.to_device.handle());\n", ""),

    # Other collectives.
    Bug("image_ignores_earlier_operation", CPU,
        "  AwaitPoint((*bench_)->done, waiter_);  // an earlier operation still reads the memory\n", ""),
    Bug("image_is_made_after_default_stream", CPU, "made.Record(order.stream);", "made.Record(nullptr);"),
    Bug("image_forgets_program_stream", CPU, "    (*bench_)->done.HoldBack(order_.stream);\n", ""),
    Bug("image_does_not_record_its_end", CPU, "  (*bench_)->done.Record((*bench_)->to_device.handle());\n", ""),
    Bug("image_ignores_program_stream", CPU, "  (*bench_)->made.HoldBack((*bench_)->to_cpu.handle());\n", ""),
    Bug("image_overwrites_what_the_program_uses", CPU,
        "    (*bench_)->made.HoldBack((*bench_)->to_device.handle());\n", ""),
    Bug("image_read_before_its_copy", CPU, "  AwaitPoint(copied, waiter_);\n", ""),
    Bug("image_end_is_recorded_elsewhere", CPU, "copied.Record((*bench_)->to_cpu.handle());",
        "copied.Record((*bench_)->to_device.handle());"),
    Bug("image_returned_before_its_copy", CPU, "  AwaitPoint((*bench_)->done, waiter_);\n}", "}"),
    Bug("image_error_leaves_a_copy_to_the_cpu_behind", BENCH, "    arrived.front().HoldBack(to_device.handle());\n", "",
        test=COPY_TO_THE_CPU, tests="*.ACopyToTheCpuThatFails*"),
    Bug("image_error_leaves_a_copy_to_the_gpu_behind", BENCH, "    done.Record(to_device.handle());\n", "",
        test=COPY_TO_THE_GPU, tests="*.ACopyToTheGpuThatFails*"),
    Bug("image_error_lets_the_program_go_on", BENCH, "    done.HoldBack(program);\n", "",
        test=COPY_TO_THE_GPU, tests="*.ACopyToTheGpuThatFails*"),
    Bug("image_error_is_no_end", CPU, "    bench.EndEarly(program);\n", "", test=COPY_TO_THE_CPU,
        tests="*.ACopyToTheCpuThatFails*"),
    Bug("image_of_managed_memory_is_read_at_once", CPU,
        "    for (const auto& tensor : tensors) AwaitManaged(tensor.data, order.stream, waiter_);\n", ""),

    # The team.
    Bug("team_reads_managed_memory_at_once", TEAM_DEVICE,
        "    if (!untouched_) Parting([&] { AwaitWork(place, stream, ProgramsWaiter()); });\n", ""),
    Bug("stores_before_clipping", TEAM_DEVICE, "pending_.empty() && KeepsSums(parts_.settings);",
        "pending_.empty() && (parts_.settings.accumulate == 1 || parts_.settings.op != SLIPWAY_MEAN);"),
    Bug("stores_delayed_steps_at_once", TEAM_DEVICE, "current_ && !current_->slot && pending_.empty()",
        "current_ && pending_.size() < 3"),
    Bug("stores_before_pending_steps_are_added", TEAM_DEVICE, "!current_->slot && pending_.empty()", "!current_->slot"),
    Bug("stores_before_the_mean_of_passes", TEAM_DEVICE, "pending_.empty() && KeepsSums(parts_.settings);",
        "pending_.empty() && parts_.settings.clip_norm == 0;"),
    Bug("pass_without_exchange_is_not_joined", TEAM_DEVICE, "      untouched_->Add(stream);\n", ""),
    Bug("join_is_not_waited_for", TEAM_DEVICE, "    untouched_->HoldBack(stream);\n", ""),
    Bug("no_release_of_what_is_stored_already", TEAM_DEVICE,
        "if (device_ != nullptr) device_->Release(stream);",
        "if (device_ != nullptr && !stored) device_->Release(stream);"),
    Bug("release_before_the_last_store", TEAM_DEVICE,
        "    if (device_ != nullptr && !stored) StoreOnDevice(AllIndices(values_.size()), step_);\n"
        "    if (device_ != nullptr) device_->Release(stream);\n",
        "    if (device_ != nullptr) device_->Release(stream);\n"
        "    if (device_ != nullptr && !stored) StoreOnDevice(AllIndices(values_.size()), step_);\n"),
    Bug("delivers_before_values_arrived", TEAM, "    AwaitArrivals(lock);\n", ""),
    Bug("stores_a_bucket_before_its_exchange", TEAM,
        "    bucket.Exchange(slot, *group_);\n"
        "    if (store) StoreOnDevice(bucket.plan().tensors, number);\n",
        "    if (store) StoreOnDevice(bucket.plan().tensors, number);\n"
        "    bucket.Exchange(slot, *group_);\n"),
]
