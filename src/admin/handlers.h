// What the unary calls of the admin service do, once the caller is let in.

#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "admin/messages.h"
#include "admin/outcome_recorder.h"
#include "grpc_resilience/admin/v1/admin.pb.h"
#include "grpc_resilience/admin_service.h"
#include "grpc_resilience/resilience.h"

namespace grpc_resilience::internal {

/// This type is safe to use from several threads at once.
class ReadHandlers {
 public:
  ReadHandlers(std::shared_ptr<Resilience> resilience,
               std::shared_ptr<const OutcomeRecorder> recorder)
      : resilience_(std::move(resilience)), recorder_(std::move(recorder)) {}

  absl::Status List(const pb::ListBreakersRequest& request,
                    pb::ListBreakersResponse* response) const;
  absl::Status Get(const pb::GetBreakerRequest& request,
                   pb::GetBreakerResponse* response) const;
  absl::Status ExplainOne(const pb::ExplainBreakerRequest& request,
                          pb::ExplainBreakerResponse* response) const;
  absl::Status Transitions(const pb::ListTransitionsRequest& request,
                           pb::ListTransitionsResponse* response) const;
  absl::Status Policies(const pb::ListPoliciesRequest& request,
                        pb::ListPoliciesResponse* response) const;
  absl::Status Resolve(const pb::ResolvePolicyRequest& request,
                       pb::ResolvePolicyResponse* response) const;
  absl::Status Outcomes(const pb::ListOutcomesRequest& request,
                        pb::ListOutcomesResponse* response) const;

 private:
  const std::shared_ptr<Resilience> resilience_;
  const std::shared_ptr<const OutcomeRecorder> recorder_;
};

/// Each says in `entry` what was changed; `entry->who` says who does.
/// This type is safe to use from several threads at once.
class ChangeHandlers {
 public:
  ChangeHandlers(std::shared_ptr<Resilience> resilience,
                 std::shared_ptr<OutcomeRecorder> recorder)
      : resilience_(std::move(resilience)), recorder_(std::move(recorder)) {}

  absl::Status Force(const pb::ForceModeRequest& request, AdminLogEntry* entry,
                     pb::ForceModeResponse* response) const;
  absl::Status Reset(const pb::ResetBreakerRequest& request,
                     AdminLogEntry* entry,
                     pb::ResetBreakerResponse* response) const;
  absl::Status Record(const pb::RecordOutcomesRequest& request,
                      AdminLogEntry* entry,
                      pb::RecordOutcomesResponse* response) const;

 private:
  const std::shared_ptr<Resilience> resilience_;
  const std::shared_ptr<OutcomeRecorder> recorder_;
};

/// Creates none; NOT_FOUND.
absl::StatusOr<std::shared_ptr<CircuitBreaker>> FindBreaker(
    Resilience& resilience, const pb::BreakerKey& key);

}  // namespace grpc_resilience::internal
