// What answers in a target's place when a call to it came to nothing: a port. The
// component "fallback" has a stale cache, a static response, a function and another
// target, the component "queue" a persistent queue; your own kind looks like this:
//
//   class Yesterday : public FallbackSource {
//     std::string_view kind() const override { return "yesterday"; }
//     void Start(const std::shared_ptr<const FailedCall>& call,
//                FallbackReply reply) override {
//       reply.Answer(FallbackAnswer::Response(Load(call->request)));
//     }
//   };
//   config.Method("/shop.Catalogue/Get").fallbacks = {cache, yesterday};
//
// The sources of a method are asked in order; the first that answers wins. When they
// are asked is FallbackRules' table.

#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "grpc_resilience/clock.h"
#include "grpc_resilience/deadline.h"
#include "grpc_resilience/outcome.h"
#include "grpc_resilience/stop_reason.h"

namespace grpc_resilience {

/// The request of a call. A value type.
struct FallbackRequest {
  std::string target;
  std::string method;
  /// Serialised; equal messages of generated classes give equal bytes.
  std::string request;
  /// The caller's metadata under the keys that the method's sources name.
  std::vector<std::pair<std::string, std::string>> metadata;
  /// The value of RetryPolicy::idempotency_key_header; empty without one.
  std::string idempotency_key;
};

/// A call that came to nothing, and what is known of it. A value type.
struct FailedCall : FallbackRequest {
  StatusCode code = StatusCode::UNAVAILABLE;
  std::string message;
  std::string details;
  StopReason reason = StopReason::kBreakerOpen;
  int attempts = 0;
  TimePoint now;
  /// An answer after that comes too late; at `now` itself: only one within Start
  /// counts.
  Deadline deadline;
  /// Name of the header that carries `idempotency_key`; empty without one.
  std::string idempotency_key_header;
};

/// What a source says. A value type.
struct FallbackAnswer {
  enum class Kind { kDeclined, kResponse, kStatus };

  /// The next source is asked. `why` is shown to the caller and must hold nothing
  /// secret; empty: there is nothing to say.
  static FallbackAnswer Declined(std::string why = {});
  /// `bytes` is a serialised response; `type` its full name, checked against the
  /// method's where both are known; `note` goes into the mark ("age=12s").
  static FallbackAnswer Response(std::string bytes, std::string type = {},
                                 std::string note = {});
  /// The caller gets this instead of the status of its call. OK can't be answered
  /// like that and counts as declined.
  static FallbackAnswer Status(StatusCode code, std::string message,
                               std::string details = {});

  Kind kind = Kind::kDeclined;
  std::string response;
  std::string type;
  std::string note;
  StatusCode code = StatusCode::OK;
  std::string message;  ///< of kStatus; of kDeclined: why
  std::string details;
};

/// The way back to the call. Copies are the same way; when the last one goes
/// without an answer, the source has declined. This type is safe to use from several
/// threads at once.
class FallbackReply {
 public:
  /// For adapters: who hears the answer.
  class Taker {
   public:
    virtual ~Taker() = default;
    virtual bool Take(FallbackAnswer answer) = 0;
    virtual bool over() const = 0;
  };
  explicit FallbackReply(std::shared_ptr<Taker> taker)
      : taker_(std::move(taker)) {}

  /// From any thread, also within Start. False: it came too late, or second; then
  /// the caller has not seen it.
  bool Answer(FallbackAnswer answer) const {
    return taker_->Take(std::move(answer));
  }
  /// Nobody waits for the answer any more.
  bool over() const { return taker_->over(); }

 private:
  std::shared_ptr<Taker> taker_;
};

/// Implementations must be safe to use from several threads at once.
class FallbackSource {
 public:
  virtual ~FallbackSource() = default;

  /// In the mark that the caller sees, in events and metrics: lower case with
  /// underscores. The view lives as long as the source.
  virtual std::string_view kind() const = 0;

  /// Asks for an answer, now or later. Runs on the thread that ended the call, often
  /// one of gRPC's: it must not block. What it throws is a refusal.
  virtual void Start(const std::shared_ptr<const FailedCall>& call,
                     FallbackReply reply) = 0;

  /// Metadata that Start and OnResponse are shown.
  virtual std::vector<std::string> metadata_keys() const { return {}; }

  /// True: OnResponse hears of every call of the method that succeeded.
  virtual bool keeps_responses() const { return false; }
  virtual void OnResponse(const FallbackRequest& /*request*/,
                          std::string_view /*response*/, TimePoint /*now*/) {}

  /// True: the request is sent again later, so only methods that the policy itself
  /// declares idempotent, by word or key header, may have this source.
  virtual bool repeats_request() const { return false; }

  /// What is wrong with its settings, as "field = value: allowed" each; reported by
  /// Resilience::Create.
  virtual std::vector<std::string> Faults() const { return {}; }
};

/// Request metadata by which a call is answered by no fallback; its good response is
/// kept all the same. Taken out before the wire on protected channels. For sources
/// that make calls themselves.
inline constexpr char kWithoutFallbacksKey[] =
    "grpc-resilience-without-fallbacks";

}  // namespace grpc_resilience
