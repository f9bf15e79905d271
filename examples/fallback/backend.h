// The shop's backend, with a switch for how it is.

#pragma once

#include <grpcpp/grpcpp.h>

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>

#include "shop.grpc.pb.h"

enum class Health { kAnswers, kHangs, kFails };

/// One order is charged once, however often its key comes. This type is safe to use
/// from several threads at once.
class Backend : public shop::Catalogue::Service,
                public shop::Shipping::Service,
                public shop::Payments::Service {
 public:
  Backend();
  ~Backend() override;

  std::string target() const { return "127.0.0.1:" + std::to_string(port_); }
  void Set(Health health) { health_ = health; }

  /// How often each order was charged.
  std::map<std::string, int> charges() const;

  grpc::Status GetPage(grpc::ServerContext* context,
                       const shop::PageRequest* request,
                       shop::Page* page) override;
  grpc::Status GetPrice(grpc::ServerContext* context,
                        const shop::PriceRequest* request,
                        shop::Price* price) override;
  grpc::Status Charge(grpc::ServerContext* context,
                      const shop::ChargeRequest* request,
                      shop::Receipt* receipt) override;

 private:
  grpc::Status Behave(grpc::ServerContext* context) const;

  std::atomic<Health> health_{Health::kAnswers};
  std::atomic<std::int64_t> version_{0};
  mutable std::mutex mutex_;
  std::set<std::string> keys_;
  std::map<std::string, int> charges_;
  int port_ = 0;
  std::unique_ptr<grpc::Server> server_;
};
