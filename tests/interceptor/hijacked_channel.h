// Runs functions inside the passes of a call, without a server: the call is
// hijacked, so nothing is sent.
//
//   PassWork work;
//   work.receive = [](Pass pass) { ... };
//   auto stub = Echo::NewStub(HijackedChannel(std::move(work)));
//   stub->Unary(&context, request, &response);

#pragma once

#include <grpcpp/channel.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>
#include <grpcpp/support/client_interceptor.h>

#include <functional>
#include <memory>
#include <utility>
#include <vector>

namespace grpc_resilience::internal {

using Pass = grpc::experimental::InterceptorBatchMethods*;

/// What to do in the passes of a call. Each may be empty.
struct PassWork {
  std::function<void(Pass)> send;     ///< the first pass, before it is hijacked
  std::function<void(Pass)> receive;  ///< the pass that fills in the result
  std::function<void(Pass)> received;  ///< the pass that shows the result
};

/// Hijacks every call. Not safe for use from several threads at once.
class HijackingFactory
    : public grpc::experimental::ClientInterceptorFactoryInterface {
 public:
  explicit HijackingFactory(PassWork work) : work_(std::move(work)) {}

  grpc::experimental::Interceptor* CreateClientInterceptor(
      grpc::experimental::ClientRpcInfo*) override {
    return new Interceptor(work_);
  }

 private:
  class Interceptor : public grpc::experimental::Interceptor {
   public:
    explicit Interceptor(const PassWork& work) : work_(work) {}
    void Intercept(Pass pass) override {
      using Hook = grpc::experimental::InterceptionHookPoints;
      if (pass->QueryInterceptionHookPoint(Hook::PRE_SEND_INITIAL_METADATA)) {
        if (work_.send) work_.send(pass);
        pass->Hijack();
        return;
      }
      if (work_.receive &&
          pass->QueryInterceptionHookPoint(Hook::PRE_RECV_STATUS)) {
        work_.receive(pass);
      }
      if (work_.received &&
          pass->QueryInterceptionHookPoint(Hook::POST_RECV_STATUS)) {
        work_.received(pass);
      }
      pass->Proceed();
    }

   private:
    const PassWork& work_;
  };

  const PassWork work_;
};

/// A channel to nowhere whose calls are answered by `work`.
inline std::shared_ptr<grpc::Channel> HijackedChannel(PassWork work) {
  std::vector<
      std::unique_ptr<grpc::experimental::ClientInterceptorFactoryInterface>>
      factories;
  factories.push_back(std::make_unique<HijackingFactory>(std::move(work)));
  return grpc::experimental::CreateCustomChannelWithInterceptors(
      "127.0.0.1:1", grpc::InsecureChannelCredentials(),
      grpc::ChannelArguments(), std::move(factories));
}

}  // namespace grpc_resilience::internal
