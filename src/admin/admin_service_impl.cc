#include "admin/admin_service_impl.h"

#include <chrono>
#include <cstddef>
#include <string>
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

// A request that is too large is logged as well, before it is refused.
std::string Cut(const std::string& text) {
  constexpr std::size_t kMost = 1024;
  return text.size() <= kMost ? text : text.substr(0, kMost) + "...";
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

absl::Status AdminServiceImpl::LetIn(AdminRight right, const Context& context,
                                     AdminLogEntry* entry) {
  const AdminCaller caller = CallerOf(context);
  entry->peer = caller.peer;
  auto who = Authorise(*options_.authoriser, caller, right);
  if (who.ok()) {
    entry->who = *std::move(who);
    return absl::OkStatus();
  }
  const bool known = !absl::IsUnauthenticated(who.status());
  const auto not_logged = (known ? known_refused_ : unknown_refused_)
                              .Admit(resilience_->clock().Now());
  if (!not_logged) return who.status();
  entry->not_logged = *not_logged;
  entry->result = who.status();
  if (!known) {  // nor are the words of a stranger
    entry->key = BreakerKey();
    entry->reason.clear();
  } else if (right == AdminRight::kChange) {
    const auto reader =
        Authorise(*options_.authoriser, caller, AdminRight::kRead);
    if (reader.ok()) entry->who = *reader;
  }
  Log(*entry);
  return who.status();
}

template <typename Request, typename Response>
grpc::ServerUnaryReactor* AdminServiceImpl::Read(
    const char* action, Context* context, const Request& request,
    Response* response,
    absl::Status (ReadHandlers::*handler)(const Request&, Response*) const) {
  try {
    AdminLogEntry entry;
    entry.action = action;
    const absl::Status let_in = LetIn(AdminRight::kRead, *context, &entry);
    if (!let_in.ok()) return Finished(context, let_in);
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
    entry.action = action;
    entry.key.target = Cut(request.key().target());
    entry.key.method = Cut(request.key().method());
    entry.key.custom = Cut(request.key().custom());
    entry.reason = Cut(request.reason());
    const absl::Status let_in = LetIn(AdminRight::kChange, *context, &entry);
    if (!let_in.ok()) return Finished(context, let_in);
    entry.result = (change_.*handler)(request, &entry, response);
  } catch (...) {
    entry.result = WentWrong();
  }
  Log(entry);
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
  return Read("ListBreakers", context, *request, response, &ReadHandlers::List);
}

AdminServiceImpl::Unary* AdminServiceImpl::GetBreaker(
    Context* context, const pb::GetBreakerRequest* request,
    pb::GetBreakerResponse* response) {
  return Read("GetBreaker", context, *request, response, &ReadHandlers::Get);
}

AdminServiceImpl::Unary* AdminServiceImpl::ExplainBreaker(
    Context* context, const pb::ExplainBreakerRequest* request,
    pb::ExplainBreakerResponse* response) {
  return Read("ExplainBreaker", context, *request, response,
              &ReadHandlers::ExplainOne);
}

AdminServiceImpl::Unary* AdminServiceImpl::ListTransitions(
    Context* context, const pb::ListTransitionsRequest* request,
    pb::ListTransitionsResponse* response) {
  return Read("ListTransitions", context, *request, response,
              &ReadHandlers::Transitions);
}

AdminServiceImpl::Unary* AdminServiceImpl::ListPolicies(
    Context* context, const pb::ListPoliciesRequest* request,
    pb::ListPoliciesResponse* response) {
  return Read("ListPolicies", context, *request, response,
              &ReadHandlers::Policies);
}

AdminServiceImpl::Unary* AdminServiceImpl::ResolvePolicy(
    Context* context, const pb::ResolvePolicyRequest* request,
    pb::ResolvePolicyResponse* response) {
  return Read("ResolvePolicy", context, *request, response,
              &ReadHandlers::Resolve);
}

AdminServiceImpl::Unary* AdminServiceImpl::ListOutcomes(
    Context* context, const pb::ListOutcomesRequest* request,
    pb::ListOutcomesResponse* response) {
  return Read("ListOutcomes", context, *request, response,
              &ReadHandlers::Outcomes);
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
    const Context& context, const pb::WatchBreakersRequest& request) {
  AdminLogEntry entry;
  entry.action = "WatchBreakers";
  absl::Status let_in = LetIn(AdminRight::kRead, context, &entry);
  if (!let_in.ok()) return let_in;
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
