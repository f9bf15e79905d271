// Interceptors to put before and after ours.
//
//   auto inner = std::make_shared<InterceptorLog>();
//   InterceptorFactories factories;
//   factories.push_back(std::make_unique<LoggingFactory>(inner));

#pragma once

#include <grpcpp/support/client_interceptor.h>

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace grpc_resilience::test {

using HookPoint = grpc::experimental::InterceptionHookPoints;

/// What a LoggingFactory's interceptors saw. Safe for use from several threads.
class InterceptorLog {
 public:
  /// Interceptors made, that is RPCs.
  int rpcs() const { return rpcs_; }
  /// Passes in all, empty ones included.
  int passes() const;
  /// Passes in which that hook was set.
  int Count(HookPoint hook) const;
  /// The message views, one for each RPC that showed one.
  std::vector<std::string> messages() const;
  /// Interceptors that exist now.
  int alive() const { return alive_; }

 private:
  friend class LoggingInterceptor;
  void AddPass(const std::vector<HookPoint>& hooks);
  void AddMessage(std::string bytes);

  std::atomic<int> rpcs_{0};
  std::atomic<int> alive_{0};
  mutable std::mutex mu_;
  int passes_ = 0;
  std::map<HookPoint, int> counts_;
  std::vector<std::string> messages_;
};

/// Lets everything pass and logs it.
class LoggingFactory
    : public grpc::experimental::ClientInterceptorFactoryInterface {
 public:
  enum class MessageView {
    kNone,
    kObject,      ///< GetSendMessage, as an EchoRequest
    kSerialized,  ///< GetSerializedSendMessage
  };
  explicit LoggingFactory(std::shared_ptr<InterceptorLog> log,
                          MessageView view = MessageView::kNone)
      : log_(std::move(log)), view_(view) {}
  grpc::experimental::Interceptor* CreateClientInterceptor(
      grpc::experimental::ClientRpcInfo* info) override;

 private:
  const std::shared_ptr<InterceptorLog> log_;
  const MessageView view_;
};

/// Adds one entry to the metadata of every RPC.
class AddMetadataFactory
    : public grpc::experimental::ClientInterceptorFactoryInterface {
 public:
  AddMetadataFactory(std::string key, std::string value)
      : key_(std::move(key)), value_(std::move(value)) {}
  grpc::experimental::Interceptor* CreateClientInterceptor(
      grpc::experimental::ClientRpcInfo* info) override;

 private:
  const std::string key_;
  const std::string value_;
};

/// Makes no interceptor, which gRPC allows.
class NullFactory
    : public grpc::experimental::ClientInterceptorFactoryInterface {
 public:
  grpc::experimental::Interceptor* CreateClientInterceptor(
      grpc::experimental::ClientRpcInfo* /*info*/) override {
    return nullptr;
  }
};

/// Hijacks the first `times` RPCs (-1: all) and fails them with UNAVAILABLE
/// "hijacked".
class FailingHijackerFactory
    : public grpc::experimental::ClientInterceptorFactoryInterface {
 public:
  explicit FailingHijackerFactory(int times)
      : left_(std::make_shared<std::atomic<int>>(times)) {}
  grpc::experimental::Interceptor* CreateClientInterceptor(
      grpc::experimental::ClientRpcInfo* info) override;

 private:
  const std::shared_ptr<std::atomic<int>> left_;
};

/// Hijacks every RPC to Echo made with protobuf objects and makes another call
/// instead, through the interceptors after itself (as gRPC's own example does).
class ReissuingHijackerFactory
    : public grpc::experimental::ClientInterceptorFactoryInterface {
 public:
  grpc::experimental::Interceptor* CreateClientInterceptor(
      grpc::experimental::ClientRpcInfo* info) override;
};

}  // namespace grpc_resilience::test
