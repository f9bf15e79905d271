#include <chrono>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "admin/breaker_pages.h"
#include "admin/handlers.h"
#include "admin/request_checks.h"
#include "admin/words.h"
#include "core/breaker_context.h"

namespace grpc_resilience::internal {
namespace {

constexpr Duration kLongestMode = std::chrono::hours(30 * 24);
constexpr Duration kShortestRecording = std::chrono::seconds(1);
constexpr Duration kLongestRecording = std::chrono::hours(1);
constexpr Duration kUsualRecording = std::chrono::minutes(1);
constexpr int kUsualOutcomes = 100;
constexpr int kMostOutcomes = 1000;

}  // namespace

absl::Status ChangeHandlers::Force(const pb::ForceModeRequest& request,
                                   AdminLogEntry* entry,
                                   pb::ForceModeResponse* response) const {
  RequestChecks checks("ForceModeRequest");
  checks.Key(request.key());
  checks.Mode(request.mode());
  checks.Reason(request.reason());
  if (request.has_ttl()) {
    if (request.mode() == pb::AUTO) {
      checks.Add("ttl", Roughly(FromProto(request.ttl())),
                 "must be unset with AUTO");
    }
    checks.InRange("ttl", request.ttl(), Duration(1), kLongestMode);
  }
  if (auto status = checks.Result(); !status.ok()) return status;
  const OperatorMode mode = FromProto(request.mode());
  std::optional<Duration> ttl;
  if (request.has_ttl()) ttl = FromProto(request.ttl());
  entry->what = Str(ToString(mode));
  if (ttl) absl::StrAppend(&entry->what, " for ", Roughly(*ttl));
  const auto breaker = FindBreaker(*resilience_, request.key());
  if (!breaker.ok()) return breaker.status();
  if (!(*breaker)->context()->rules.enabled) {
    return absl::FailedPreconditionError(
        "the breaker is switched off by its policy: a mode has no effect");
  }
  (*breaker)->ForceMode(mode, ttl,
                        absl::StrCat(entry->who, ": ", request.reason()));
  *response->mutable_breaker() =
      MessageOf(**breaker, WallTime(resilience_->clock()));
  return absl::OkStatus();
}

absl::Status ChangeHandlers::Reset(const pb::ResetBreakerRequest& request,
                                   AdminLogEntry* entry,
                                   pb::ResetBreakerResponse* response) const {
  RequestChecks checks("ResetBreakerRequest");
  checks.Key(request.key());
  checks.Reason(request.reason());
  if (auto status = checks.Result(); !status.ok()) return status;
  const auto breaker = FindBreaker(*resilience_, request.key());
  if (!breaker.ok()) return breaker.status();
  entry->what = absl::StrCat("from ", Str(ToString((*breaker)->state())));
  (*breaker)->Reset();
  *response->mutable_breaker() =
      MessageOf(**breaker, WallTime(resilience_->clock()));
  return absl::OkStatus();
}

absl::Status ChangeHandlers::Record(
    const pb::RecordOutcomesRequest& request, AdminLogEntry* entry,
    pb::RecordOutcomesResponse* response) const {
  RequestChecks checks("RecordOutcomesRequest");
  checks.Key(request.key());
  checks.Reason(request.reason());
  const int capacity =
      request.capacity() == 0 ? kUsualOutcomes : request.capacity();
  checks.InRange("capacity", capacity, 1, kMostOutcomes);
  Duration duration = kUsualRecording;
  if (request.has_duration()) {
    duration = FromProto(request.duration());
    checks.InRange("duration", request.duration(), kShortestRecording,
                   kLongestRecording);
  }
  if (auto status = checks.Result(); !status.ok()) return status;
  const auto breaker = FindBreaker(*resilience_, request.key());
  if (!breaker.ok()) return breaker.status();
  const BreakerKey key = FromProto(request.key());
  if (request.stop()) {
    entry->what = "stop";
    recorder_->Stop(key);
    return absl::OkStatus();
  }
  entry->what = absl::StrCat("the last ", capacity, " for ", Roughly(duration));
  const auto until =
      recorder_->Record(key, static_cast<std::size_t>(capacity), duration);
  if (!until.ok()) return until.status();
  *response->mutable_until() = WallTime(resilience_->clock()).At(*until);
  return absl::OkStatus();
}

}  // namespace grpc_resilience::internal
