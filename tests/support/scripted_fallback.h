// A fallback source that does what it is told and remembers what it was asked.

#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "grpc_resilience/fallback.h"
#include "test_service.pb.h"

namespace grpc_resilience::test {

/// This type is safe to use from several threads at once.
class ScriptedFallback : public FallbackSource {
 public:
  using Script = std::function<void(ScriptedFallback*, FallbackReply)>;

  explicit ScriptedFallback(Script script) : script_(std::move(script)) {}

  static std::shared_ptr<ScriptedFallback> Saying(FallbackAnswer answer) {
    return std::make_shared<ScriptedFallback>(
        [answer](ScriptedFallback*, const FallbackReply& reply) {
          reply.Answer(answer);
        });
  }
  /// An EchoResponse with this item.
  static FallbackAnswer Item(const std::string& item, std::string note = {}) {
    EchoResponse response;
    response.add_items(item);
    return FallbackAnswer::Response(response.SerializeAsString(),
                                    response.GetTypeName(), std::move(note));
  }
  static std::shared_ptr<ScriptedFallback> Answering(const std::string& item,
                                                     std::string note = {}) {
    return Saying(Item(item, std::move(note)));
  }
  static std::shared_ptr<ScriptedFallback> Declining(std::string why) {
    return Saying(FallbackAnswer::Declined(std::move(why)));
  }
  static std::shared_ptr<ScriptedFallback> WithType(std::string type) {
    return Saying(FallbackAnswer::Response("", std::move(type)));
  }
  static std::shared_ptr<ScriptedFallback> WithBytes(std::string bytes) {
    return Saying(FallbackAnswer::Response(std::move(bytes)));
  }
  static std::shared_ptr<ScriptedFallback> WithStatus(StatusCode code,
                                                      std::string message) {
    return Saying(FallbackAnswer::Status(code, std::move(message)));
  }
  static std::shared_ptr<ScriptedFallback> Throwing() {
    return std::make_shared<ScriptedFallback>(
        [](ScriptedFallback*, const FallbackReply&) {
          throw std::runtime_error("as told");
        });
  }
  /// Lets go of the reply.
  static std::shared_ptr<ScriptedFallback> Dropping() {
    return std::make_shared<ScriptedFallback>(
        [](ScriptedFallback*, const FallbackReply&) {});
  }
  /// Keeps the reply and never answers by itself.
  static std::shared_ptr<ScriptedFallback> Silent() {
    return std::make_shared<ScriptedFallback>(
        [](ScriptedFallback* self, FallbackReply reply) {
          absl::MutexLock lock(&self->mu_);
          self->kept_replies_.push_back(std::move(reply));
        });
  }
  /// From a thread of its own.
  static std::shared_ptr<ScriptedFallback> AnsweringAfter(
      std::chrono::milliseconds time, const std::string& item) {
    return std::make_shared<ScriptedFallback>(
        [time, item](ScriptedFallback* self, FallbackReply reply) {
          absl::MutexLock lock(&self->mu_);
          self->threads_.emplace_back([time, item, reply = std::move(reply)] {
            std::this_thread::sleep_for(time);
            reply.Answer(Item(item));
          });
        });
  }
  /// Hears of good responses, and declines.
  static std::shared_ptr<ScriptedFallback> Keeping(std::string metadata_key) {
    auto source = Declining("");
    source->metadata_keys_ = {std::move(metadata_key)};
    source->keeps_ = true;
    return source;
  }

  ~ScriptedFallback() override {
    for (std::thread& thread : threads_) {
      // One of them may be the last to hold the call's policy, and so this.
      if (thread.get_id() == std::this_thread::get_id()) {
        thread.detach();
      } else {
        thread.join();
      }
    }
  }

  std::string_view kind() const override { return "scripted"; }
  std::vector<std::string> metadata_keys() const override {
    return metadata_keys_;
  }
  bool keeps_responses() const override { return keeps_; }

  void Start(const std::shared_ptr<const FailedCall>& call,
             FallbackReply reply) override {
    {
      absl::MutexLock lock(&mu_);
      ++asked_;
      last_ = *call;
    }
    script_(this, std::move(reply));
  }
  void OnResponse(const FallbackRequest& request, std::string_view response,
                  TimePoint /*now*/) override {
    absl::MutexLock lock(&mu_);
    ++kept_;
    last_kept_ = request;
    last_response_ = std::string(response);
  }

  int asked() const {
    absl::MutexLock lock(&mu_);
    return asked_;
  }
  FailedCall last() const {
    absl::MutexLock lock(&mu_);
    return last_;
  }
  int kept() const {
    absl::MutexLock lock(&mu_);
    return kept_;
  }
  FallbackRequest last_kept() const {
    absl::MutexLock lock(&mu_);
    return last_kept_;
  }
  std::string last_response() const {
    absl::MutexLock lock(&mu_);
    return last_response_;
  }
  /// Answers what Silent kept: true when somebody still waited.
  bool AnswerLate() {
    std::vector<FallbackReply> replies;
    {
      absl::MutexLock lock(&mu_);
      replies.swap(kept_replies_);
    }
    bool heard = false;
    for (const FallbackReply& reply : replies) {
      heard = reply.Answer(Item("late")) || heard;
    }
    return heard;
  }

 private:
  const Script script_;
  std::vector<std::string> metadata_keys_;
  bool keeps_ = false;
  mutable absl::Mutex mu_;
  int asked_ ABSL_GUARDED_BY(mu_) = 0;
  FailedCall last_ ABSL_GUARDED_BY(mu_);
  int kept_ ABSL_GUARDED_BY(mu_) = 0;
  FallbackRequest last_kept_ ABSL_GUARDED_BY(mu_);
  std::string last_response_ ABSL_GUARDED_BY(mu_);
  std::vector<FallbackReply> kept_replies_ ABSL_GUARDED_BY(mu_);
  std::vector<std::thread> threads_;
};

}  // namespace grpc_resilience::test
