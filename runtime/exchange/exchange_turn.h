/// Which thread of a team exchanges buckets, as a state machine. Pure.
#pragma once

namespace slipway::runtime {

///   free --kThreadBegins--> thread ----kBucketDone----> free
///    |                         | ^
///    |                kCallerTakes kCallerGivesBack
///    |                         v |
///    |                     thread's last --kBucketDone--> caller
///    +--------kCallerTakes------------------------------> caller --kCallerGivesBack--> free
enum class ExchangeTurn {
  kFree,        ///< neither thread is in a collective
  kThread,      ///< the team's thread exchanges a bucket
  kThreadLast,  ///< the same, and the program's thread waits to go on after it
  kCaller,      ///< the program's thread exchanges
};

enum class TurnEvent {
  kThreadBegins,     ///< the team's thread begins a bucket; only while free
  kBucketDone,       ///< by either thread
  kCallerTakes,      ///< the program's thread waits for the step's end and takes over
  kCallerGivesBack,  ///< it has what it waited for
};

constexpr ExchangeTurn Next(ExchangeTurn turn, TurnEvent event) {
  switch (event) {
    case TurnEvent::kThreadBegins: return turn == ExchangeTurn::kFree ? ExchangeTurn::kThread : turn;
    case TurnEvent::kBucketDone:
      if (turn == ExchangeTurn::kThread) return ExchangeTurn::kFree;
      return turn == ExchangeTurn::kThreadLast ? ExchangeTurn::kCaller : turn;
    case TurnEvent::kCallerTakes:
      if (turn == ExchangeTurn::kThread) return ExchangeTurn::kThreadLast;
      return turn == ExchangeTurn::kFree ? ExchangeTurn::kCaller : turn;
    case TurnEvent::kCallerGivesBack:
      if (turn == ExchangeTurn::kThreadLast) return ExchangeTurn::kThread;
      return turn == ExchangeTurn::kCaller ? ExchangeTurn::kFree : turn;
  }
  return turn;
}

/// The team's thread is in a collective.
constexpr bool ThreadExchanges(ExchangeTurn turn) {
  return turn == ExchangeTurn::kThread || turn == ExchangeTurn::kThreadLast;
}

}  // namespace slipway::runtime
