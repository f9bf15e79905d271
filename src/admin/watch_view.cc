#include "admin/watch_view.h"

#include <utility>

#include "admin/breaker_pages.h"

namespace grpc_resilience::internal {
namespace {

// A message stays at some ten kilobytes: each watcher may have one under way.
constexpr std::size_t kBreakersAtOnce = 50;
constexpr std::size_t kTransitionsAtOnce = 64;

}  // namespace

WatchView::WatchView(const BreakerRegistry& registry, const Clock& clock,
                     const TransitionLog& log, pb::BreakerFilter filter,
                     Duration heartbeat)
    : registry_(registry),
      clock_(clock),
      log_(log),
      filter_(std::move(filter)),
      heartbeat_(heartbeat),
      last_said_(clock.Now()),
      position_(log.end()) {}

std::optional<pb::WatchBreakersResponse> WatchView::Next() {
  const WallTime time(clock_);
  pb::WatchBreakersResponse response;
  if (in_snapshot_) {
    FillSnapshot(time, &response);
  } else if (!FillFromLog(&response)) {
    if (time.now() - last_said_ < heartbeat_) return std::nullopt;
    response.mutable_heartbeat();
  }
  last_said_ = time.now();
  *response.mutable_time() = time.At(time.now());
  return response;
}

void WatchView::FillSnapshot(const WallTime& time,
                             pb::WatchBreakersResponse* response) {
  BreakerPage page =
      ReadPage(registry_, filter_, snapshot_after_, kBreakersAtOnce, time);
  for (pb::Breaker& breaker : page.breakers) {
    *response->mutable_snapshot()->add_breakers() = std::move(breaker);
  }
  in_snapshot_ = page.last.has_value();
  snapshot_after_ = std::move(page.last);
  response->mutable_snapshot()->set_complete(!in_snapshot_);
}

bool WatchView::FillFromLog(pb::WatchBreakersResponse* response) {
  while (true) {
    const TransitionLog::Part part = log_.Read(position_, kTransitionsAtOnce);
    position_ = part.next;
    if (part.missed > 0) {
      response->mutable_missed()->set_transitions(part.missed);
      in_snapshot_ = true;
      snapshot_after_ = std::nullopt;
      return true;
    }
    if (part.entries.empty()) return false;
    for (const TransitionLog::Entry& entry : part.entries) {
      if (!KeyMatches(filter_, FromProto(entry->key()))) continue;
      *response->mutable_transitions()->add_transitions() = *entry;
    }
    if (response->has_transitions()) return true;
  }
}

}  // namespace grpc_resilience::internal
