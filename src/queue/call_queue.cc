#include "grpc_resilience/call_queue.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "core/duration_text.h"
#include "queue/queue_worker.h"

namespace grpc_resilience {
namespace {

using internal::DurationText;
using internal::QueueWorker;

void CheckPositive(const char* field, Duration value,
                   std::vector<std::string>* faults) {
  if (value > Duration::zero()) return;
  faults->push_back(
      absl::StrCat(field, " = ", DurationText(value), ": must be > 0"));
}

void CheckAtLeastOne(const char* field, std::int64_t value,
                     std::vector<std::string>* faults) {
  if (value >= 1) return;
  faults->push_back(absl::StrCat(field, " = ", value, ": must be >= 1"));
}

class QueueSource final : public FallbackSource {
 public:
  QueueSource(std::shared_ptr<QueueWorker> worker, std::string response,
              std::string type)
      : worker_(std::move(worker)),
        response_(std::move(response)),
        type_(std::move(type)) {}

  std::string_view kind() const override { return "queue"; }
  std::vector<std::string> metadata_keys() const override {
    return worker_->options().metadata_keys;
  }
  bool repeats_request() const override { return true; }

  void Start(const std::shared_ptr<const FailedCall>& call,
             FallbackReply reply) override {
    worker_->Put({call, std::move(reply), response_, type_});
  }

  std::vector<std::string> Faults() const override {
    const CallQueueOptions& options = worker_->options();
    std::vector<std::string> faults;
    CheckPositive("time_to_live", options.time_to_live, &faults);
    CheckAtLeastOne("max_deliveries", options.max_deliveries, &faults);
    CheckPositive("backoff.initial_backoff", options.backoff.initial_backoff,
                  &faults);
    if (options.backoff.max_backoff < options.backoff.initial_backoff) {
      faults.push_back(absl::StrCat(
          "backoff.max_backoff = ", DurationText(options.backoff.max_backoff),
          ": must be >= backoff.initial_backoff"));
    }
    CheckPositive("delivery_timeout", options.delivery_timeout, &faults);
    CheckPositive("poll_interval", options.poll_interval, &faults);
    CheckAtLeastOne("max_in_flight", options.max_in_flight, &faults);
    CheckAtLeastOne("max_entries", options.max_entries, &faults);
    return faults;
  }

 private:
  const std::shared_ptr<QueueWorker> worker_;
  const std::string response_;
  const std::string type_;
};

}  // namespace

CallQueue::CallQueue(std::shared_ptr<QueueStore> store,
                     CallQueueOptions options)
    : worker_(std::make_shared<QueueWorker>(std::move(store),
                                            std::move(options))) {}

CallQueue::~CallQueue() { worker_->Stop(); }

std::shared_ptr<FallbackSource> CallQueue::AnswerWith(
    const google::protobuf::MessageLite& response) {
  return std::make_shared<QueueSource>(
      worker_, response.SerializePartialAsString(), response.GetTypeName());
}

void CallQueue::DeliverThrough(const std::string& target,
                               const std::shared_ptr<grpc::Channel>& channel) {
  worker_->UseChannel(target, channel);
}

CallQueue::Stats CallQueue::stats() const { return worker_->stats(); }

}  // namespace grpc_resilience
