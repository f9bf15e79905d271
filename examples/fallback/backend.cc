#include "backend.h"

#include <chrono>
#include <thread>

using std::chrono::milliseconds;

Backend::Backend() {
  grpc::ServerBuilder builder;
  builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(),
                           &port_);
  builder.RegisterService(static_cast<shop::Catalogue::Service*>(this));
  builder.RegisterService(static_cast<shop::Shipping::Service*>(this));
  builder.RegisterService(static_cast<shop::Payments::Service*>(this));
  server_ = builder.BuildAndStart();
}

Backend::~Backend() { server_->Shutdown(std::chrono::system_clock::now()); }

std::map<std::string, int> Backend::charges() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return charges_;
}

grpc::Status Backend::Behave(grpc::ServerContext* context) const {
  switch (health_.load()) {
    case Health::kAnswers:
      std::this_thread::sleep_for(milliseconds(200));
      return grpc::Status::OK;
    case Health::kHangs:
      while (!context->IsCancelled()) {
        std::this_thread::sleep_for(milliseconds(5));
      }
      return {grpc::StatusCode::CANCELLED, "hung"};
    case Health::kFails:
      break;
  }
  return {grpc::StatusCode::UNAVAILABLE, "the database is down"};
}

grpc::Status Backend::GetPage(grpc::ServerContext* context,
                              const shop::PageRequest*, shop::Page* page) {
  page->set_version(++version_);
  return Behave(context);
}

grpc::Status Backend::GetPrice(grpc::ServerContext* context,
                               const shop::PriceRequest*, shop::Price* price) {
  price->set_cents(395);
  return Behave(context);
}

grpc::Status Backend::Charge(grpc::ServerContext* context,
                             const shop::ChargeRequest* request,
                             shop::Receipt* receipt) {
  const auto key = context->client_metadata().find("idempotency-key");
  if (key == context->client_metadata().end()) {
    return {grpc::StatusCode::INVALID_ARGUMENT, "no idempotency key"};
  }
  if (grpc::Status status = Behave(context); !status.ok()) return status;
  const std::lock_guard<std::mutex> lock(mutex_);
  if (keys_.emplace(key->second.data(), key->second.size()).second) {
    ++charges_[request->order()];
  }
  receipt->set_state(shop::Receipt::PAID);
  return grpc::Status::OK;
}
