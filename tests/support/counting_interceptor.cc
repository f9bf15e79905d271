#include "support/counting_interceptor.h"

#include <grpcpp/grpcpp.h>

#include "interceptor/thread_handover.h"
#include "test_service.grpc.pb.h"

namespace grpc_resilience::test {
namespace {

using grpc::experimental::ClientRpcInfo;
using grpc::experimental::Interceptor;
using grpc::experimental::InterceptorBatchMethods;

constexpr int kHooks = static_cast<int>(HookPoint::NUM_INTERCEPTION_HOOKS);

class AddMetadata : public Interceptor {
 public:
  AddMetadata(const std::string& key, const std::string& value)
      : key_(key), value_(value) {}
  void Intercept(InterceptorBatchMethods* methods) override {
    if (methods->QueryInterceptionHookPoint(
            HookPoint::PRE_SEND_INITIAL_METADATA)) {
      methods->GetSendInitialMetadata()->emplace(key_, value_);
    }
    methods->Proceed();
  }

 private:
  const std::string key_;
  const std::string value_;
};

class FailingHijacker : public Interceptor {
 public:
  explicit FailingHijacker(std::shared_ptr<std::atomic<int>> left)
      : left_(std::move(left)) {}

  void Intercept(InterceptorBatchMethods* methods) override {
    if (methods->QueryInterceptionHookPoint(HookPoint::PRE_SEND_CANCEL)) {
      methods->Proceed();
      return;
    }
    internal::TakeOver(this);
    if (!begun_) {
      begun_ = true;
      internal::HandOver(this);
      if (Take()) {
        methods->Hijack();
        return;
      }
    }
    if (methods->QueryInterceptionHookPoint(HookPoint::PRE_RECV_MESSAGE)) {
      methods->FailHijackedRecvMessage();
    }
    if (methods->QueryInterceptionHookPoint(HookPoint::PRE_RECV_STATUS)) {
      *methods->GetRecvStatus() =
          grpc::Status(grpc::StatusCode::UNAVAILABLE, "hijacked");
    }
    methods->Proceed();
  }

 private:
  bool Take() {
    int left = *left_;
    if (left < 0) return true;
    while (left > 0 && !left_->compare_exchange_weak(left, left - 1)) {
    }
    return left > 0;
  }

  const std::shared_ptr<std::atomic<int>> left_;
  bool begun_ = false;
};

class ReissuingHijacker : public Interceptor {
 public:
  void Intercept(InterceptorBatchMethods* methods) override {
    if (methods->QueryInterceptionHookPoint(
            HookPoint::PRE_SEND_INITIAL_METADATA)) {
      const auto* request =
          static_cast<const EchoRequest*>(methods->GetSendMessage());
      if (request != nullptr) request_ = *request;
      stub_ = Echo::NewStub(methods->GetInterceptedChannel());
      methods->Hijack();
      return;
    }
    if (methods->QueryInterceptionHookPoint(HookPoint::PRE_RECV_STATUS)) {
      // The synchronous, callback and reactor forms show the message by now.
      if (methods->QueryInterceptionHookPoint(HookPoint::PRE_RECV_MESSAGE)) {
        response_ = static_cast<EchoResponse*>(methods->GetRecvMessage());
      }
      stub_->async()->Idempotent(&context_, &request_, response_,
                                 [methods](grpc::Status status) {
                                   if (!status.ok())
                                     methods->FailHijackedRecvMessage();
                                   *methods->GetRecvStatus() = status;
                                   methods->Proceed();
                                 });
      return;
    }
    methods->Proceed();
  }

 private:
  EchoRequest request_;
  EchoResponse* response_ = nullptr;
  grpc::ClientContext context_;
  std::unique_ptr<Echo::Stub> stub_;
};

}  // namespace

class LoggingInterceptor : public Interceptor {
 public:
  LoggingInterceptor(std::shared_ptr<InterceptorLog> log,
                     LoggingFactory::MessageView view)
      : log_(std::move(log)), view_(view) {
    ++log_->rpcs_;
    ++log_->alive_;
  }
  ~LoggingInterceptor() override { --log_->alive_; }

  void Intercept(InterceptorBatchMethods* methods) override {
    std::vector<HookPoint> hooks;
    for (int i = 0; i < kHooks; ++i) {
      const auto hook = static_cast<HookPoint>(i);
      if (methods->QueryInterceptionHookPoint(hook)) hooks.push_back(hook);
    }
    log_->AddPass(hooks);
    if (methods->QueryInterceptionHookPoint(HookPoint::PRE_SEND_MESSAGE)) {
      Log(methods);
    }
    methods->Proceed();
  }

 private:
  void Log(InterceptorBatchMethods* methods) {
    if (view_ == LoggingFactory::MessageView::kObject) {
      const void* object = methods->GetSendMessage();
      log_->AddMessage(
          object == nullptr
              ? "(no object)"
              : static_cast<const EchoRequest*>(object)->SerializeAsString());
    } else if (view_ == LoggingFactory::MessageView::kSerialized) {
      grpc::ByteBuffer* bytes = methods->GetSerializedSendMessage();
      grpc::Slice slice;
      log_->AddMessage(bytes != nullptr && bytes->DumpToSingleSlice(&slice).ok()
                           ? std::string(slice.begin(), slice.end())
                           : "(no bytes)");
    }
  }

  const std::shared_ptr<InterceptorLog> log_;
  const LoggingFactory::MessageView view_;
};

int InterceptorLog::passes() const {
  std::lock_guard<std::mutex> lock(mu_);
  return passes_;
}

int InterceptorLog::Count(HookPoint hook) const {
  std::lock_guard<std::mutex> lock(mu_);
  const auto found = counts_.find(hook);
  return found == counts_.end() ? 0 : found->second;
}

std::vector<std::string> InterceptorLog::messages() const {
  std::lock_guard<std::mutex> lock(mu_);
  return messages_;
}

void InterceptorLog::AddPass(const std::vector<HookPoint>& hooks) {
  std::lock_guard<std::mutex> lock(mu_);
  ++passes_;
  for (const HookPoint hook : hooks) ++counts_[hook];
}

void InterceptorLog::AddMessage(std::string bytes) {
  std::lock_guard<std::mutex> lock(mu_);
  messages_.push_back(std::move(bytes));
}

Interceptor* LoggingFactory::CreateClientInterceptor(ClientRpcInfo* /*info*/) {
  return new LoggingInterceptor(log_, view_);
}

Interceptor* AddMetadataFactory::CreateClientInterceptor(
    ClientRpcInfo* /*info*/) {
  return new AddMetadata(key_, value_);
}

Interceptor* FailingHijackerFactory::CreateClientInterceptor(
    ClientRpcInfo* /*info*/) {
  return new FailingHijacker(left_);
}

Interceptor* ReissuingHijackerFactory::CreateClientInterceptor(
    ClientRpcInfo* /*info*/) {
  return new ReissuingHijacker;
}

}  // namespace grpc_resilience::test
