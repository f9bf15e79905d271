#include <iostream>

#include "admin/messages.h"
#include "tools/resiliencectl/breaker_table.h"
#include "tools/resiliencectl/commands.h"
#include "tools/resiliencectl/report.h"

namespace grpc_resilience::tools {
namespace {

using Stub = pb::ResilienceAdmin::Stub;

// Shows how the breakers are afterwards.
template <typename Request, typename Response>
ExitCode ChangeAll(const Options& options, const Processes& processes,
                   const Request& request,
                   grpc::Status (Stub::*call)(grpc::ClientContext*,
                                              const Request&, Response*)) {
  Report report(options);
  std::vector<BreakerOf> breakers;
  for (const auto& answer : AskAll(processes, options, request, call)) {
    if (!report.Check(answer.address, answer.status)) continue;
    if (options.json) report.Json(answer.address, answer.response);
    breakers.push_back({answer.address, answer.response.breaker()});
  }
  if (!options.json && !breakers.empty()) {
    BreakerTable(breakers, processes.size() > 1)
        .Print(std::cout, WantsColor(options.color));
  }
  return Finish(report, options, processes);
}

}  // namespace

ExitCode Force(const Options& options, const Processes& processes) {
  pb::ForceModeRequest request;
  *request.mutable_key() = options.key;
  request.set_mode(options.mode);
  if (options.length > Duration::zero()) {
    *request.mutable_ttl() = internal::ToProto(options.length);
  }
  request.set_reason(options.reason);
  return ChangeAll(options, processes, request, &Stub::ForceMode);
}

ExitCode Reset(const Options& options, const Processes& processes) {
  pb::ResetBreakerRequest request;
  *request.mutable_key() = options.key;
  request.set_reason(options.reason);
  return ChangeAll(options, processes, request, &Stub::ResetBreaker);
}

ExitCode Record(const Options& options, const Processes& processes) {
  pb::RecordOutcomesRequest request;
  *request.mutable_key() = options.key;
  request.set_capacity(options.capacity);
  if (options.length > Duration::zero()) {
    *request.mutable_duration() = internal::ToProto(options.length);
  }
  request.set_reason(options.reason);
  request.set_stop(options.stop);
  Report report(options);
  for (const auto& answer :
       AskAll(processes, options, request, &Stub::RecordOutcomes)) {
    if (!report.Check(answer.address, answer.status)) continue;
    if (options.json) {
      report.Json(answer.address, answer.response);
    } else if (options.stop) {
      std::cout << answer.address << ": recording has ended\n";
    } else {
      std::cout << answer.address << ": recording until "
                << ClockOf(answer.response.until()) << "\n";
    }
  }
  return Finish(report, options, processes);
}

}  // namespace grpc_resilience::tools
