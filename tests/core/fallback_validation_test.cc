#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "grpc_resilience/config.h"

namespace grpc_resilience {
namespace {

class Source : public FallbackSource {
 public:
  explicit Source(bool repeats, std::vector<std::string> faults = {})
      : repeats_(repeats), faults_(std::move(faults)) {}
  std::string_view kind() const override { return "queue"; }
  void Start(const std::shared_ptr<const FailedCall>&,
             FallbackReply reply) override {
    reply.Answer(FallbackAnswer::Declined());
  }
  bool repeats_request() const override { return repeats_; }
  std::vector<std::string> Faults() const override { return faults_; }

 private:
  const bool repeats_;
  const std::vector<std::string> faults_;
};

TEST(FallbackValidationTest, EveryFaultIsNamed) {
  Config config;
  MethodPolicy& policy = config.Method("/a.B/C");
  policy.fallbacks = {
      nullptr, std::make_shared<Source>(true),
      std::make_shared<Source>(
          false, std::vector<std::string>{"max_bytes = 0: must be >= 1"})};
  policy.fallback_rules.timeout = Duration::zero();
  policy.fallback_rules.reserve = std::chrono::milliseconds(-1);
  policy.fallback_rules.also_on = {StatusCode::OK, StatusCode::NOT_FOUND,
                                   StatusCode::INTERNAL};
  EXPECT_EQ(
      config.Validate().message(),
      "method \"/a.B/C\": fallbacks[0] = null: must be a source\n"
      "method \"/a.B/C\": fallbacks[1] (queue): sends the request again later, "
      "which needs retry.idempotency_key_header or retry.idempotency = "
      "kIdempotent\n"
      "method \"/a.B/C\": fallbacks[2] (queue): max_bytes = 0: must be >= 1\n"
      "method \"/a.B/C\": fallback_rules.timeout = 0 s: must be > 0\n"
      "method \"/a.B/C\": fallback_rules.reserve = -1 ms: must be >= 0\n"
      "method \"/a.B/C\": fallback_rules.also_on contains OK: never leads to a "
      "fallback\n"
      "method \"/a.B/C\": fallback_rules.also_on contains NOT_FOUND: the "
      "caller's own fault, which a fallback would hide");
}

TEST(FallbackValidationTest, RepeatingNeedsIdempotency) {
  Config config;
  MethodPolicy& policy = config.Method("/a.B/C");
  policy.fallbacks = {std::make_shared<Source>(true)};
  EXPECT_FALSE(config.Validate().ok());
  policy.retry.idempotency = Idempotency::kIdempotent;
  EXPECT_TRUE(config.Validate().ok());
  policy.retry.idempotency = Idempotency::kFromProto;
  policy.retry.idempotency_key_header = "idempotency-key";
  EXPECT_TRUE(config.Validate().ok());
}

TEST(FallbackValidationTest, ASourceThatThrowsIsAFault) {
  enum class Where { kKind, kRepeats, kFaults };
  class Throwing : public FallbackSource {
   public:
    explicit Throwing(Where where) : where_(where) {}
    std::string_view kind() const override {
      ThrowAt(Where::kKind);
      return "mine";
    }
    void Start(const std::shared_ptr<const FailedCall>&,
               FallbackReply reply) override {
      reply.Answer(FallbackAnswer::Declined());
    }
    bool repeats_request() const override {
      ThrowAt(Where::kRepeats);
      return false;
    }
    std::vector<std::string> Faults() const override {
      ThrowAt(Where::kFaults);
      return {};
    }

   private:
    void ThrowAt(Where here) const {
      if (where_ == here) throw std::runtime_error("hm");
    }
    const Where where_;
  };
  for (const Where where : {Where::kKind, Where::kRepeats, Where::kFaults}) {
    Config config;
    config.Method("/a.B/C").fallbacks = {std::make_shared<Source>(false),
                                         std::make_shared<Throwing>(where)};
    EXPECT_EQ(config.Validate().message(),
              "method \"/a.B/C\": fallbacks[1]: kind(), repeats_request() or "
              "Faults() threw an exception");
  }
}

}  // namespace
}  // namespace grpc_resilience
