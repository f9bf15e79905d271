// A shop whose backend answers in 200 ms, then hangs, then fails, then returns; the
// shop goes on selling.
//
//   fallback_shop [--seconds=N]     N for each of the four times, and five times that
//                                   for the hang; the default is 3
//
//   catalogue   the last good page, marked with its age       (stale cache)
//   shipping    a flat rate                                   (static response)
//   payment     kept on disk and charged later, once          (queue)
//
// Ends with 1 when a promise was broken.

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "backend.h"
#include "grpc_resilience/call_queue.h"
#include "grpc_resilience/channel.h"
#include "grpc_resilience/sqlite_queue_store.h"
#include "grpc_resilience/stale_cache.h"
#include "grpc_resilience/static_response.h"

namespace {

using namespace std::chrono_literals;  // NOLINT(google-build-using-namespace)
using grpc_resilience::CallQueue;
using grpc_resilience::Config;
using grpc_resilience::MethodPolicy;
using Clock = std::chrono::steady_clock;

constexpr auto kDeadline = 500ms;
// A payment may take longer: half of it is for writing to disk, which takes its time
// on a busy machine.
constexpr auto kPaymentDeadline = 4s;
constexpr auto kTimeToQueue = kPaymentDeadline / 2;
// The hang is as much longer than the other times.
constexpr int kHangFactor = 5;

double Seconds(Clock::duration time) {
  return std::chrono::duration<double>(time).count();
}

/// What a customer saw of one page.
struct Visit {
  double seconds = 0;
  bool answered = true;
  bool stale = false;
  bool flat_rate = false;
  std::int64_t version = 0;
  std::string age;  // "age=3s"
};

class Shop {
 public:
  Shop(const std::string& target, const std::string& queue_file)
      : queue_(std::make_shared<grpc_resilience::SqliteQueueStore>(queue_file),
               QueueOptions()) {
    Config config;
    config.DefaultTarget().breaker.consecutive_failures = 3;

    grpc_resilience::StaleCacheOptions cache;
    cache.max_age = 10min;
    cache.revalidation_interval = 500ms;
    cache_ = std::make_shared<grpc_resilience::StaleCache>(cache);
    config.Method("/shop.Catalogue/GetPage").fallbacks = {cache_};

    shop::Price flat_rate;
    flat_rate.set_cents(490);
    config.Method("/shop.Shipping/GetPrice").fallbacks = {
        grpc_resilience::StaticResponse(flat_rate)};

    shop::Receipt later;
    later.set_state(shop::Receipt::LATER);
    MethodPolicy& charge = config.Method("/shop.Payments/Charge");
    charge.retry.idempotency_key_header = "idempotency-key";
    charge.fallbacks = {queue_.AnswerWith(later)};
    charge.fallback_rules.reserve = kTimeToQueue;
    charge.fallback_rules.timeout = kTimeToQueue;

    auto resilience = grpc_resilience::Resilience::Create(std::move(config));
    if (!resilience.ok()) {
      std::fprintf(stderr, "%s\n", resilience.status().ToString().c_str());
      std::exit(2);
    }
    channel_ = grpc_resilience::CreateChannel(
        *resilience, target, grpc::InsecureChannelCredentials());
    cache_->RevalidateThrough(target, channel_);
    queue_.DeliverThrough(target, channel_);
    catalogue_ = shop::Catalogue::NewStub(channel_);
    shipping_ = shop::Shipping::NewStub(channel_);
    payments_ = shop::Payments::NewStub(channel_);
    // Not a part of the story.
    channel_->WaitForConnected(std::chrono::system_clock::now() + 10s);
  }

  Visit ShowPage() {
    Visit visit;
    const auto start = Clock::now();
    grpc::ClientContext page_context;
    page_context.set_deadline(std::chrono::system_clock::now() + kDeadline);
    shop::Page page;
    visit.answered = catalogue_->GetPage(&page_context, {}, &page).ok();
    visit.version = page.version();
    // How a degraded answer shows.
    const auto& trailing = page_context.GetServerTrailingMetadata();
    const auto mark = trailing.find("grpc-resilience-fallback");
    visit.stale = mark != trailing.end();
    if (visit.stale) {
      const std::string text(mark->second.data(), mark->second.size());
      visit.age = text.substr(text.find("age="));
    }

    grpc::ClientContext price_context;
    price_context.set_deadline(std::chrono::system_clock::now() + kDeadline);
    shop::Price price;
    visit.answered =
        shipping_->GetPrice(&price_context, {}, &price).ok() && visit.answered;
    visit.flat_rate = price.cents() == 490;
    visit.seconds = Seconds(Clock::now() - start);
    return visit;
  }

  shop::Receipt::State Pay(const std::string& order) {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + kPaymentDeadline);
    shop::ChargeRequest request;
    request.set_order(order);
    request.set_cents(1999);
    shop::Receipt receipt;
    payments_->Charge(&context, request, &receipt);
    return receipt.state();
  }

  std::int64_t delivered() const { return queue_.stats().delivered; }

 private:
  static grpc_resilience::CallQueueOptions QueueOptions() {
    grpc_resilience::CallQueueOptions options;
    options.backoff.initial_backoff = 200ms;
    options.backoff.max_backoff = 1s;
    options.delivery_timeout = 2s;
    return options;
  }

  CallQueue queue_;
  std::shared_ptr<grpc_resilience::StaleCache> cache_;
  std::shared_ptr<grpc::Channel> channel_;
  std::unique_ptr<shop::Catalogue::Stub> catalogue_;
  std::unique_ptr<shop::Shipping::Stub> shipping_;
  std::unique_ptr<shop::Payments::Stub> payments_;
};

class Story {
 public:
  explicit Story(double seconds) : seconds_(seconds) {}

  bool Run() {
    std::string folder =
        (std::filesystem::temp_directory_path() / "shop-XXXXXX").string();
    if (mkdtemp(folder.data()) == nullptr) return false;
    {
      Shop shop(backend_.target(), folder + "/payments.queue");
      std::printf(
          "%-8s pages  median  slowest  stale pages  flat rates  paid  later\n",
          "backend");
      Phase(&shop, "answers", Health::kAnswers, seconds_);
      Phase(&shop, "hangs", Health::kHangs, kHangFactor * seconds_);
      Phase(&shop, "fails", Health::kFails, seconds_);
      const auto back = Clock::now();
      Phase(&shop, "returns", Health::kAnswers, seconds_);
      fresh_after_ = first_fresh_ ? Seconds(*first_fresh_ - back) : 1e9;
      const auto limit = Clock::now() + 20s;
      while (shop.delivered() < later_ && Clock::now() < limit) {
        std::this_thread::sleep_for(20ms);
      }
      delivered_after_ = Seconds(Clock::now() - back);
    }
    std::filesystem::remove_all(folder);
    return Report();
  }

 private:
  void Phase(Shop* shop, const char* name, Health health, double seconds) {
    backend_.Set(health);
    first_fresh_.reset();
    std::vector<double> times;
    int stale = 0;
    int flat = 0;
    int paid = 0;
    int later = 0;
    const auto end = Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                        std::chrono::duration<double>(seconds));
    while (Clock::now() < end) {
      const Visit visit = shop->ShowPage();
      times.push_back(visit.seconds);
      slowest_ = std::max(slowest_, visit.seconds);
      if (!visit.answered) ++unanswered_;
      if (visit.stale) {
        ++stale;
        oldest_ = visit.age;
        if (visit.version > newest_) ++wrong_versions_;
      } else {
        if (visit.version < newest_) ++wrong_versions_;
        newest_ = std::max(newest_, visit.version);
        if (!first_fresh_) first_fresh_ = Clock::now();
      }
      flat += visit.flat_rate ? 1 : 0;
      if (times.size() % 2 == 1) {
        switch (shop->Pay("order " + std::to_string(++orders_))) {
          case shop::Receipt::PAID:
            ++paid;
            break;
          case shop::Receipt::LATER:
            ++later;
            break;
          default:
            ++unpaid_;
        }
      }
      std::this_thread::sleep_for(50ms);
    }
    later_ += later;
    std::sort(times.begin(), times.end());
    std::printf("%-8s %5zu  %4.0f ms  %4.0f ms  %11d  %10d  %4d  %5d\n", name,
                times.size(), 1e3 * times[times.size() / 2], 1e3 * times.back(),
                stale, flat, paid, later);
    std::fflush(stdout);
  }

  bool Report() {
    int once = 0;
    const auto charges = backend_.charges();
    for (const auto& [order, times] : charges) once += times == 1 ? 1 : 0;
    std::printf("\nthe oldest page shown: %s\n\n", oldest_.c_str());
    Check(unanswered_ == 0, "every page was answered");
    Check(slowest_ <= 2 * Seconds(kDeadline) + 0.5,
          "no page took longer than its two deadlines, and some: " +
              std::to_string(static_cast<int>(1e3 * slowest_)) + " ms");
    Check(wrong_versions_ == 0, "old pages were marked, new ones weren't");
    Check(fresh_after_ <= 6,
          "pages were fresh again " +
              std::to_string(static_cast<int>(1e3 * fresh_after_)) +
              " ms after the backend's return");
    Check(unpaid_ == 0 && later_ > 0,
          "every order was paid or kept for later: " + std::to_string(later_) +
              " kept");
    Check(once == orders_ && static_cast<int>(charges.size()) == orders_,
          "each of " + std::to_string(orders_) + " orders was charged once, " +
              std::to_string(static_cast<int>(1e3 * delivered_after_)) +
              " ms after the return");
    return ok_;
  }

  void Check(bool kept, const std::string& promise) {
    std::printf("  %s %s\n", kept ? "ok    " : "BROKEN", promise.c_str());
    ok_ = ok_ && kept;
  }

  const double seconds_;
  Backend backend_;
  std::optional<Clock::time_point> first_fresh_;
  std::int64_t newest_ = 0;
  std::string oldest_;
  double slowest_ = 0;
  double fresh_after_ = 0;
  double delivered_after_ = 0;
  int unanswered_ = 0;
  int wrong_versions_ = 0;
  int orders_ = 0;
  int unpaid_ = 0;
  int later_ = 0;
  bool ok_ = true;
};

}  // namespace

int main(int argc, char** argv) {
  double seconds = 3;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument.rfind("--seconds=", 0) == 0) {
      seconds = std::atof(argument.c_str() + 10);
    }
    if (seconds <= 0 || argument.rfind("--seconds=", 0) != 0) {
      std::fprintf(stderr, "usage: fallback_shop [--seconds=N]\n");
      return 2;
    }
  }
  const bool ok = Story(seconds).Run();
  std::printf("\nshop: %s\n", ok ? "OK" : "FAILED");
  return ok ? 0 : 1;
}
