#include "grpc_resilience/function_fallback.h"

#include "fallback/workers.h"

namespace grpc_resilience::internal {
namespace {

class FunctionSource final : public FallbackSource {
 public:
  FunctionSource(UntypedFunction function, FunctionOptions options)
      : function_(std::make_shared<const UntypedFunction>(std::move(function))),
        options_(std::move(options)) {}

  std::string_view kind() const override { return "function"; }
  std::vector<std::string> metadata_keys() const override {
    return options_.metadata_keys;
  }

  void Start(const std::shared_ptr<const FailedCall>& call,
             FallbackReply reply) override {
    if (options_.thread == FallbackThread::kInline) {
      reply.Answer((*function_)(*call));
      return;
    }
    // Holds the function, so that this object may go before it is done.
    const bool runs =
        Workers::OfProcess().Run([function = function_, call, reply] {
          if (reply.over()) return;
          try {
            reply.Answer((*function)(*call));
          } catch (...) {
            reply.Answer(FallbackAnswer::Declined("threw an exception"));
          }
        });
    if (!runs) {
      reply.Answer(FallbackAnswer::Declined("no thread is free"));
    }
  }

 private:
  const std::shared_ptr<const UntypedFunction> function_;
  const FunctionOptions options_;
};

}  // namespace

std::shared_ptr<FallbackSource> MakeFunctionSource(UntypedFunction function,
                                                   FunctionOptions options) {
  return std::make_shared<FunctionSource>(std::move(function),
                                          std::move(options));
}

}  // namespace grpc_resilience::internal
