#include "admin/admin_service_impl.h"

#include <chrono>
#include <utility>

#include "admin/caller.h"
#include "admin/grpc_status.h"
#include "admin/request_checks.h"
#include "admin/watch_stream.h"

namespace grpc_resilience::internal {
namespace {

constexpr Duration kUsualHeartbeat = std::chrono::seconds(10);
constexpr Duration kShortestHeartbeat = std::chrono::seconds(1);
constexpr Duration kLongestHeartbeat = std::chrono::hours(1);

// A storm of transitions is told in parts, twenty a second.
constexpr Ticker::Pace kPace{std::chrono::milliseconds(250),
                             std::chrono::milliseconds(50)};

grpc::ServerUnaryReactor* Finished(grpc::CallbackServerContext* context,
                                   const absl::Status& status) {
  grpc::ServerUnaryReactor* const reactor = context->DefaultReactor();
  reactor->Finish(ToGrpc(status));
  return reactor;
}

absl::Status WentWrong() {
  return absl::InternalError("the admin service ran out of something");
}

}  // namespace

AdminServiceImpl::AdminServiceImpl(std::shared_ptr<Resilience> resilience,
                                   AdminOptions options)
    : resilience_(std::move(resilience)),
      options_(std::move(options)),
      recorder_(std::make_shared<OutcomeRecorder>(
          resilience_, static_cast<std::size_t>(options_.max_recordings))),
      hub_(std::make_shared<WatchHub>(
          resilience_->clock(),
          static_cast<std::size_t>(options_.max_watchers))),
      ticker_(Ticker::Make(kPace,
                           [hub = hub_, recorder = recorder_] {
                             const bool watched = hub->Tick();
                             const bool recording = recorder->Expire();
                             return watched || recording;
                           })),
      read_(resilience_, recorder_),
      change_(resilience_, recorder_) {
  hub_->UseTicker(ticker_);
  resilience_->AddObserver(hub_);
}

AdminServiceImpl::~AdminServiceImpl() {
  resilience_->RemoveObserver(hub_.get());
  ticker_->Stop();
  hub_->UseTicker(nullptr);
  recorder_->StopAll();
}

template <typename Request, typename Response>
grpc::ServerUnaryReactor* AdminServiceImpl::Read(
    Context* context, const Request& request, Response* response,
    absl::Status (ReadHandlers::*handler)(const Request&, Response*) const) {
  try {
    const auto who =
        Authorise(*options_.authoriser, CallerOf(*context), AdminRight::kRead);
    if (!who.ok()) return Finished(context, who.status());
    return Finished(context, (read_.*handler)(request, response));
  } catch (...) {
    return Finished(context, WentWrong());
  }
}

template <typename Request, typename Response>
grpc::ServerUnaryReactor* AdminServiceImpl::Change(
    const char* action, Context* context, const Request& request,
    Response* response,
    absl::Status (ChangeHandlers::*handler)(const Request&, AdminLogEntry*,
                                            Response*) const) {
  AdminLogEntry entry;
  try {
    const AdminCaller caller = CallerOf(*context);
    const auto who =
        Authorise(*options_.authoriser, caller, AdminRight::kChange);
    entry.peer = caller.peer;
    entry.action = action;
    entry.key = FromProto(request.key());
    entry.reason = request.reason();
    if (who.ok()) {
      entry.who = *who;
      entry.result = (change_.*handler)(request, &entry, response);
    } else {
      entry.result = who.status();
    }
  } catch (...) {
    entry.result = WentWrong();
  }
  // Whoever isn't known can't fill the log.
  if (!absl::IsUnauthenticated(entry.result)) Log(entry);
  return Finished(context, entry.result);
}

void AdminServiceImpl::Log(const AdminLogEntry& entry) const {
  try {
    options_.log(entry);
  } catch (...) {
    // The change is made all the same.
  }
}

AdminServiceImpl::Unary* AdminServiceImpl::ListBreakers(
    Context* context, const pb::ListBreakersRequest* request,
    pb::ListBreakersResponse* response) {
  return Read(context, *request, response, &ReadHandlers::List);
}

AdminServiceImpl::Unary* AdminServiceImpl::GetBreaker(
    Context* context, const pb::GetBreakerRequest* request,
    pb::GetBreakerResponse* response) {
  return Read(context, *request, response, &ReadHandlers::Get);
}

AdminServiceImpl::Unary* AdminServiceImpl::ExplainBreaker(
    Context* context, const pb::ExplainBreakerRequest* request,
    pb::ExplainBreakerResponse* response) {
  return Read(context, *request, response, &ReadHandlers::ExplainOne);
}

AdminServiceImpl::Unary* AdminServiceImpl::ListTransitions(
    Context* context, const pb::ListTransitionsRequest* request,
    pb::ListTransitionsResponse* response) {
  return Read(context, *request, response, &ReadHandlers::Transitions);
}

AdminServiceImpl::Unary* AdminServiceImpl::ListPolicies(
    Context* context, const pb::ListPoliciesRequest* request,
    pb::ListPoliciesResponse* response) {
  return Read(context, *request, response, &ReadHandlers::Policies);
}

AdminServiceImpl::Unary* AdminServiceImpl::ResolvePolicy(
    Context* context, const pb::ResolvePolicyRequest* request,
    pb::ResolvePolicyResponse* response) {
  return Read(context, *request, response, &ReadHandlers::Resolve);
}

AdminServiceImpl::Unary* AdminServiceImpl::ListOutcomes(
    Context* context, const pb::ListOutcomesRequest* request,
    pb::ListOutcomesResponse* response) {
  return Read(context, *request, response, &ReadHandlers::Outcomes);
}

AdminServiceImpl::Unary* AdminServiceImpl::ForceMode(
    Context* context, const pb::ForceModeRequest* request,
    pb::ForceModeResponse* response) {
  return Change("ForceMode", context, *request, response,
                &ChangeHandlers::Force);
}

AdminServiceImpl::Unary* AdminServiceImpl::ResetBreaker(
    Context* context, const pb::ResetBreakerRequest* request,
    pb::ResetBreakerResponse* response) {
  return Change("ResetBreaker", context, *request, response,
                &ChangeHandlers::Reset);
}

AdminServiceImpl::Unary* AdminServiceImpl::RecordOutcomes(
    Context* context, const pb::RecordOutcomesRequest* request,
    pb::RecordOutcomesResponse* response) {
  Unary* const reactor = Change("RecordOutcomes", context, *request, response,
                                &ChangeHandlers::Record);
  ticker_->Soon();  // which forgets it in time
  return reactor;
}

absl::Status AdminServiceImpl::WatchRequested(
    const Context& context, const pb::WatchBreakersRequest& request) const {
  const auto who =
      Authorise(*options_.authoriser, CallerOf(context), AdminRight::kRead);
  if (!who.ok()) return who.status();
  RequestChecks checks("WatchBreakersRequest");
  checks.Filter(request.filter());
  if (request.has_heartbeat()) {
    checks.InRange("heartbeat", request.heartbeat(), kShortestHeartbeat,
                   kLongestHeartbeat);
  }
  return checks.Result();
}

grpc::ServerWriteReactor<pb::WatchBreakersResponse>*
AdminServiceImpl::WatchBreakers(Context* context,
                                const pb::WatchBreakersRequest* request) {
  try {
    const absl::Status status = WatchRequested(*context, *request);
    if (!status.ok()) return WatchStream::Refuse(ToGrpc(status));
    const Duration heartbeat = request->has_heartbeat()
                                   ? FromProto(request->heartbeat())
                                   : kUsualHeartbeat;
    WatchView view(resilience_->registry(), resilience_->clock(), hub_->log(),
                   request->filter(), heartbeat);
    return WatchStream::Start(hub_, std::move(view), options_.watcher_patience,
                              context);
  } catch (...) {
    return WatchStream::Refuse(ToGrpc(WentWrong()));
  }
}

}  // namespace grpc_resilience::internal
