#include "support/echo_service.h"

#include <grpcpp/alarm.h>

#include <chrono>
#include <cstdint>
#include <thread>
#include <utility>
#include <vector>

#include "interceptor/thread_handover.h"

// Exported by libgrpc for its own tests, declared in no installed header.
grpc_compression_algorithm grpc_call_test_only_get_compression_algorithm(
    grpc_call* call);
std::uint32_t grpc_call_test_only_get_message_flags(grpc_call* call);

namespace grpc_resilience::test {
namespace {

constexpr std::uint32_t kCompressedFlag = 0x80000000u;  // internal to gRPC

template <typename Context>
Observation Observe(const char* method, Context* context) {
  Observation seen;
  seen.set_method(method);
  for (const auto& [key, value] : context->client_metadata()) {
    Metadata* entry = seen.add_metadata();
    entry->set_key(std::string(key.data(), key.size()));
    entry->set_value(std::string(value.data(), value.size()));
  }
  const grpc::string_ref authority = context->ExperimentalGetAuthority();
  seen.set_authority(std::string(authority.data(), authority.size()));
  if (context->deadline() != std::chrono::system_clock::time_point::max()) {
    seen.set_time_left_ms(
        std::chrono::duration<double, std::milli>(
            context->deadline() - std::chrono::system_clock::now())
            .count());
  }
  const char* encoding = "";
  if (grpc_compression_algorithm_name(
          grpc_call_test_only_get_compression_algorithm(context->c_call()),
          &encoding) != 0) {
    seen.set_encoding(encoding);
  }
  seen.set_compressed(
      (grpc_call_test_only_get_message_flags(context->c_call()) &
       kCompressedFlag) != 0);
  seen.set_peer(context->peer());
  return seen;
}

template <typename Context>
void AddInitial(const Hit& hit, Context* context) {
  for (const auto& [key, value] : hit.initial_metadata()) {
    context->AddInitialMetadata(key, value);
  }
}

template <typename Context>
void AddTrailing(const Hit& hit, Context* context) {
  for (const auto& [key, value] : hit.trailing_metadata()) {
    context->AddTrailingMetadata(key, value);
  }
}

// Answers one unary call; deletes itself.
class UnaryReactor : public grpc::ServerUnaryReactor {
 public:
  UnaryReactor(HitLog* log, const FaultSwitch* faults, const char* method,
               grpc::CallbackServerContext* context, const EchoRequest* request,
               EchoResponse* response)
      : hit_(log, faults, Observe(method, context)),
        context_(context),
        request_(request),
        response_(response) {
    hit_.AddRequest(*request);
    hit_.Begin(*request);
    AddInitial(hit_, context);
    internal::HandOver(this);
    if (hit_.script().send_headers_first()) {
      StartSendInitialMetadata();
    } else {
      Wait();
    }
  }

  void OnSendInitialMetadataDone(bool /*ok*/) override {
    internal::TakeOver(this);
    Wait();
  }

  void OnCancel() override {
    internal::TakeOver(this);
    cancelled_ = true;
    Answer(Event::kCancelled);
  }

  void OnDone() override {
    internal::TakeOver(this);
    if (cancelled_ || context_->IsCancelled()) hit_.SetCancelled();
    delete this;
  }

 private:
  enum class Event { kDelayOver, kCancelled, kHang };

  void Wait() {
    if (hit_.Hangs()) {
      Answer(Event::kHang);
      return;
    }
    const std::chrono::nanoseconds delay = hit_.Delay();
    if (delay.count() <= 0) {
      Answer(Event::kDelayOver);
      return;
    }
    alarm_.Set(std::chrono::system_clock::now() +
                   std::chrono::duration_cast<std::chrono::microseconds>(delay),
               [this](bool /*fired*/) { Answer(Event::kDelayOver); });
  }

  // A hang ends when both "it hangs" and "it is cancelled" are known; everything
  // else ends with the delay, cancelled or not.
  void Answer(Event event) {
    if (event == Event::kDelayOver) {
      const grpc::Status status = hit_.Verdict();
      AddTrailing(hit_, context_);
      if (status.ok()) {
        hit_.Fill(response_);
        if (response_->items().empty()) {
          *response_->mutable_items() = request_->payload();
        }
      }
      Finish(status);
    } else if (half_of_hang_.exchange(true)) {
      Finish(grpc::Status(grpc::StatusCode::CANCELLED, "the server hung"));
    }
  }

  Hit hit_;
  grpc::CallbackServerContext* const context_;
  const EchoRequest* const request_;
  EchoResponse* const response_;
  grpc::Alarm alarm_;
  std::atomic<bool> cancelled_{false};
  std::atomic<bool> half_of_hang_{false};
};

// For the synchronous methods.
void WaitBlocking(const Hit& hit, const grpc::ServerContext& context) {
  while (hit.Hangs() && !context.IsCancelled()) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  std::this_thread::sleep_for(hit.Delay());
}

}  // namespace

grpc::ServerUnaryReactor* EchoService::Unary(
    grpc::CallbackServerContext* context, const EchoRequest* request,
    EchoResponse* response) {
  return new UnaryReactor(log_, faults_, "/grpc_resilience.test.Echo/Unary",
                          context, request, response);
}

grpc::ServerUnaryReactor* EchoService::Idempotent(
    grpc::CallbackServerContext* context, const EchoRequest* request,
    EchoResponse* response) {
  return new UnaryReactor(log_, faults_,
                          "/grpc_resilience.test.Echo/Idempotent", context,
                          request, response);
}

grpc::ServerUnaryReactor* EchoService::ReadOnly(
    grpc::CallbackServerContext* context, const EchoRequest* request,
    EchoResponse* response) {
  return new UnaryReactor(log_, faults_, "/grpc_resilience.test.Echo/ReadOnly",
                          context, request, response);
}

grpc::Status EchoService::ServerStream(
    grpc::ServerContext* context, const EchoRequest* request,
    grpc::ServerWriter<EchoResponse>* writer) {
  Hit hit(log_, faults_,
          Observe("/grpc_resilience.test.Echo/ServerStream", context));
  hit.AddRequest(*request);
  hit.Begin(*request);
  AddInitial(hit, context);
  if (hit.script().send_headers_first()) writer->SendInitialMetadata();
  WaitBlocking(hit, *context);
  const int count = hit.Fails() ? hit.script().messages_before_failure()
                                : hit.script().responses();
  for (int i = 0; i < count && !context->IsCancelled(); ++i) {
    if (i > 0) {
      std::this_thread::sleep_for(
          std::chrono::milliseconds(hit.script().response_interval_ms()));
    }
    EchoResponse response;
    hit.Fill(&response);
    response.add_items(std::to_string(i));
    if (!writer->Write(response)) break;
  }
  if (context->IsCancelled()) hit.SetCancelled();
  grpc::Status status = hit.Verdict();
  AddTrailing(hit, context);
  return status;
}

grpc::Status EchoService::ClientStream(grpc::ServerContext* context,
                                       grpc::ServerReader<EchoRequest>* reader,
                                       EchoResponse* response) {
  EchoRequest first;  // outlives the hit
  Hit hit(log_, faults_,
          Observe("/grpc_resilience.test.Echo/ClientStream", context));
  if (!reader->Read(&first)) {
    return {grpc::StatusCode::INVALID_ARGUMENT, "no request came"};
  }
  hit.Begin(first);
  AddInitial(hit, context);
  if (hit.script().send_headers_first()) reader->SendInitialMetadata();
  WaitBlocking(hit, *context);
  EchoRequest request = first;
  int taken = 0;
  do {
    hit.AddRequest(request);
    for (const std::string& item : request.payload()) response->add_items(item);
    ++taken;
  } while (!(hit.Fails() && taken >= hit.script().messages_before_failure()) &&
           reader->Read(&request));
  if (context->IsCancelled()) hit.SetCancelled();
  grpc::Status status = hit.Verdict();
  AddTrailing(hit, context);
  if (status.ok()) {
    const auto items = response->items();
    hit.Fill(response);
    if (response->items().empty()) *response->mutable_items() = items;
  }
  return status;
}

grpc::Status EchoService::BidiStream(
    grpc::ServerContext* context,
    grpc::ServerReaderWriter<EchoResponse, EchoRequest>* stream) {
  EchoRequest first;  // outlives the hit
  Hit hit(log_, faults_,
          Observe("/grpc_resilience.test.Echo/BidiStream", context));
  if (!stream->Read(&first)) {
    return {grpc::StatusCode::INVALID_ARGUMENT, "no request came"};
  }
  hit.Begin(first);
  AddInitial(hit, context);
  if (hit.script().send_headers_first()) stream->SendInitialMetadata();
  WaitBlocking(hit, *context);
  EchoRequest request = first;
  int taken = 0;
  std::vector<EchoResponse> waiting;  // with answer_at_end
  bool all = false;
  do {
    hit.AddRequest(request);
    if (hit.Fails() && taken >= hit.script().messages_before_failure()) break;
    EchoResponse response;
    hit.Fill(&response);
    *response.mutable_items() = request.payload();
    ++taken;
    if (hit.script().answer_at_end()) {
      waiting.push_back(std::move(response));
    } else if (!stream->Write(response)) {
      break;
    }
    all = !stream->Read(&request);
  } while (!all);
  if (all && !hit.Fails()) {
    for (const EchoResponse& response : waiting) stream->Write(response);
  }
  if (context->IsCancelled()) hit.SetCancelled();
  grpc::Status status = hit.Verdict();
  AddTrailing(hit, context);
  return status;
}

grpc::Status ControlService::Hits(grpc::ServerContext* /*context*/,
                                  const HitsRequest* request,
                                  HitsResponse* response) {
  *response = log_->Get(request->key());
  return grpc::Status::OK;
}

grpc::Status ControlService::Reset(grpc::ServerContext* /*context*/,
                                   const ResetRequest* /*request*/,
                                   ResetResponse* /*response*/) {
  log_->Clear();
  faults_->Set({});
  return grpc::Status::OK;
}

grpc::Status ControlService::SetGlobalFault(
    grpc::ServerContext* /*context*/, const GlobalFault* request,
    SetGlobalFaultResponse* /*response*/) {
  faults_->Set(*request);
  return grpc::Status::OK;
}

grpc::Status ControlService::Shutdown(grpc::ServerContext* /*context*/,
                                      const ShutdownRequest* /*request*/,
                                      ShutdownResponse* /*response*/) {
  on_shutdown_();
  return grpc::Status::OK;
}

}  // namespace grpc_resilience::test
