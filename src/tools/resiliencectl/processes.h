// The processes that are talked to.

#pragma once

#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>

#include <functional>
#include <future>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "grpc_resilience/admin/v1/admin.grpc.pb.h"
#include "tools/resiliencectl/options.h"

namespace grpc_resilience::tools {

/// One of them. This type is safe to use from several threads at once.
class Process {
 public:
  Process(std::string address, const std::shared_ptr<grpc::Channel>& channel,
          std::string token)
      : address_(std::move(address)),
        token_(std::move(token)),
        stub_(pb::ResilienceAdmin::NewStub(channel)) {}

  const std::string& address() const { return address_; }
  pb::ResilienceAdmin::Stub& stub() const { return *stub_; }
  /// With the token; `timeout` 0: no deadline.
  std::unique_ptr<grpc::ClientContext> NewContext(Duration timeout) const;

 private:
  const std::string address_;
  const std::string token_;
  const std::unique_ptr<pb::ResilienceAdmin::Stub> stub_;
};

using Processes = std::vector<std::unique_ptr<Process>>;

/// INVALID_ARGUMENT: a file can't be read, or a token would go over the network in
/// clear.
absl::StatusOr<Processes> Connect(const Options& options);

template <typename Response>
struct Answer {
  std::string address;
  grpc::Status status;
  Response response;
};

/// Asks all at once; in the order of the processes.
template <typename Response>
std::vector<Answer<Response>> AskAll(
    const Processes& processes,
    const std::function<grpc::Status(const Process&, Response*)>& ask) {
  std::vector<std::future<Answer<Response>>> futures;
  futures.reserve(processes.size());
  for (const auto& process : processes) {
    futures.push_back(std::async(std::launch::async, [&ask, &process] {
      Answer<Response> answer;
      answer.address = process->address();
      answer.status = ask(*process, &answer.response);
      return answer;
    }));
  }
  std::vector<Answer<Response>> answers;
  answers.reserve(futures.size());
  for (auto& future : futures) answers.push_back(future.get());
  return answers;
}

template <typename Request, typename Response>
std::vector<Answer<Response>> AskAll(
    const Processes& processes, const Options& options, const Request& request,
    grpc::Status (pb::ResilienceAdmin::Stub::*call)(grpc::ClientContext*,
                                                    const Request&,
                                                    Response*)) {
  return AskAll<Response>(
      processes, [&](const Process& process, Response* response) {
        const auto context = process.NewContext(options.timeout);
        return (process.stub().*call)(context.get(), request, response);
      });
}

/// All pages.
grpc::Status ListAll(const Process& process, const Options& options,
                     const pb::BreakerFilter& filter,
                     pb::ListBreakersResponse* response);

}  // namespace grpc_resilience::tools
