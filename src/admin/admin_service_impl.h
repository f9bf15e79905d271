// The service as gRPC sees it: lets callers in, or not, logs changes and refused
// callers, and hands the rest to the handlers.

#pragma once

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "admin/handlers.h"
#include "admin/outcome_recorder.h"
#include "admin/refusal_limit.h"
#include "admin/ticker.h"
#include "admin/watch_hub.h"
#include "grpc_resilience/admin/v1/admin.grpc.pb.h"
#include "grpc_resilience/admin_service.h"

namespace grpc_resilience::internal {

/// This type is safe to use from several threads at once.
class AdminServiceImpl : public pb::ResilienceAdmin::CallbackService {
 public:
  /// The options are valid.
  AdminServiceImpl(std::shared_ptr<Resilience> resilience,
                   AdminOptions options);
  ~AdminServiceImpl() override;

  void EndWatches() { hub_->EndAll(); }

 private:
  using Context = grpc::CallbackServerContext;
  using Unary = grpc::ServerUnaryReactor;

  Unary* ListBreakers(Context* context, const pb::ListBreakersRequest* request,
                      pb::ListBreakersResponse* response) override;
  Unary* GetBreaker(Context* context, const pb::GetBreakerRequest* request,
                    pb::GetBreakerResponse* response) override;
  grpc::ServerWriteReactor<pb::WatchBreakersResponse>* WatchBreakers(
      Context* context, const pb::WatchBreakersRequest* request) override;
  Unary* ExplainBreaker(Context* context,
                        const pb::ExplainBreakerRequest* request,
                        pb::ExplainBreakerResponse* response) override;
  Unary* ListTransitions(Context* context,
                         const pb::ListTransitionsRequest* request,
                         pb::ListTransitionsResponse* response) override;
  Unary* ListPolicies(Context* context, const pb::ListPoliciesRequest* request,
                      pb::ListPoliciesResponse* response) override;
  Unary* ResolvePolicy(Context* context,
                       const pb::ResolvePolicyRequest* request,
                       pb::ResolvePolicyResponse* response) override;
  Unary* ListOutcomes(Context* context, const pb::ListOutcomesRequest* request,
                      pb::ListOutcomesResponse* response) override;
  Unary* ForceMode(Context* context, const pb::ForceModeRequest* request,
                   pb::ForceModeResponse* response) override;
  Unary* ResetBreaker(Context* context, const pb::ResetBreakerRequest* request,
                      pb::ResetBreakerResponse* response) override;
  Unary* RecordOutcomes(Context* context,
                        const pb::RecordOutcomesRequest* request,
                        pb::RecordOutcomesResponse* response) override;

  template <typename Request, typename Response>
  Unary* Read(const char* action, Context* context, const Request& request,
              Response* response,
              absl::Status (ReadHandlers::*handler)(const Request&, Response*)
                  const);
  template <typename Request, typename Response>
  Unary* Change(const char* action, Context* context, const Request& request,
                Response* response,
                absl::Status (ChangeHandlers::*handler)(const Request&,
                                                        AdminLogEntry*,
                                                        Response*) const);
  absl::Status WatchRequested(const Context& context,
                              const pb::WatchBreakersRequest& request);
  /// Says in `entry` who calls. Logs it when the caller isn't let in.
  absl::Status LetIn(AdminRight right, const Context& context,
                     AdminLogEntry* entry);
  void Log(const AdminLogEntry& entry) const;

  const std::shared_ptr<Resilience> resilience_;
  const AdminOptions options_;
  const std::shared_ptr<OutcomeRecorder> recorder_;
  const std::shared_ptr<WatchHub> hub_;
  const std::shared_ptr<Ticker> ticker_;
  const ReadHandlers read_;
  const ChangeHandlers change_;
  // Apart, so that strangers can't keep out of the log what colleagues try.
  RefusalLimit unknown_refused_;
  RefusalLimit known_refused_;
};

}  // namespace grpc_resilience::internal
