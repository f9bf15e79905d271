#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <iostream>
#include <map>
#include <mutex>
#include <thread>

#include "absl/strings/str_cat.h"
#include "admin/messages.h"
#include "admin/words.h"
#include "tools/resiliencectl/breaker_table.h"
#include "tools/resiliencectl/commands.h"
#include "tools/resiliencectl/report.h"

namespace grpc_resilience::tools {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kShownTransitions = 10;
constexpr auto kAgainAfter = std::chrono::seconds(1);
constexpr auto kRedrawEvery = std::chrono::seconds(1);

/// What all processes have told. This type is safe to use from several threads at
/// once.
class View {
 public:
  View(const Options& options, bool several)
      : options_(options),
        several_(several),
        live_(!options.json && isatty(STDOUT_FILENO) == 1),
        color_(WantsColor(options.color)),
        report_(options) {}

  /// A terminal is drawn anew; other outputs get lines.
  bool live() const { return live_; }

  void Hear(const std::string& address,
            const pb::WatchBreakersResponse& response) {
    std::lock_guard<std::mutex> lock(mu_);
    trouble_.erase(address);
    if (options_.json) return report_.Json(address, response);
    if (response.has_snapshot()) {
      HearSnapshot(address, response.snapshot());
    } else if (response.has_missed()) {
      breakers_[address].clear();
      AddLine(address, absl::StrCat(response.missed().transitions(),
                                    " transitions were missed"));
    } else {
      for (const pb::Transition& t : response.transitions().transitions()) {
        HearTransition(address, t);
      }
    }
    changed_.notify_all();
  }

  /// True: it is worth trying again.
  bool HearEnd(const std::string& address, const grpc::Status& status) {
    std::lock_guard<std::mutex> lock(mu_);
    const bool again = live_ && ExitCodeOf(status) == kNoAnswer;
    if (again) {
      trouble_[address] = status.error_message();
    } else {
      report_.Check(address, status);
    }
    changed_.notify_all();
    return again;
  }

  /// Until `end`, or all watches are over.
  void Draw(Clock::time_point end, const std::atomic<int>& running) {
    std::unique_lock<std::mutex> lock(mu_);
    while (running.load() > 0 && Clock::now() < end) {
      DrawOnce();
      changed_.wait_for(lock, kRedrawEvery);
    }
  }

  ExitCode Finish() {
    std::lock_guard<std::mutex> lock(mu_);
    return report_.Finish();
  }

 private:
  using Breakers = std::map<std::string, pb::Breaker>;

  void HearSnapshot(const std::string& address,
                    const pb::WatchBreakersResponse::Snapshot& snapshot) {
    for (const pb::Breaker& breaker : snapshot.breakers()) {
      breakers_[address][NameOf(breaker.key())] = breaker;
      if (!live_ && breaker.state() != pb::CLOSED) {
        AddLine(address, absl::StrCat(NameOf(breaker.key()), " is ",
                                      pb::State_Name(breaker.state())));
      }
    }
    if (!live_ && snapshot.complete()) {
      AddLine(address, absl::StrCat("watching ", breakers_[address].size(),
                                    " breakers"));
    }
  }

  // What only a question would tell anew (counts, times) is left out.
  void HearTransition(const std::string& address, const pb::Transition& t) {
    pb::Breaker& breaker = breakers_[address][NameOf(t.key())];
    if (breaker.has_key() && t.generation() <= breaker.generation()) return;
    *breaker.mutable_key() = t.key();
    breaker.set_state(t.to());
    if (t.from() != t.to()) *breaker.mutable_since() = t.time();
    breaker.set_mode(t.mode());
    breaker.set_generation(t.generation());
    AddLine(address, TextOf(t), &t);
  }

  void AddLine(const std::string& address, const std::string& text,
               const pb::Transition* transition = nullptr) {
    const std::string time =
        transition != nullptr ? ClockOf(transition->time()) : "";
    std::string line = absl::StrCat(time.empty() ? "" : time + " ",
                                    several_ ? address + " " : "", text);
    if (color_ && transition != nullptr) {
      line = Colored(line, ColorOf(transition->to(), transition->mode()));
    }
    if (!live_) {
      std::cout << line << std::endl;
      return;
    }
    lines_.push_back(std::move(line));
    if (lines_.size() > kShownTransitions) lines_.pop_front();
  }

  void DrawOnce() {
    Table table({{"TARGET", Color::kBold},
                 {"STATE", Color::kBold},
                 {"FOR", Color::kBold},
                 {"MODE", Color::kBold},
                 {several_ ? "ADDRESS" : "", Color::kBold}});
    for (const auto& [address, breakers] : breakers_) {
      for (const auto& [name, b] : breakers) {
        table.Add({name,
                   {pb::State_Name(b.state()), ColorOf(b.state(), b.mode())},
                   internal::Roughly(AgeOf(b.since())),
                   pb::Mode_Name(b.mode()),
                   several_ ? address : ""});
      }
    }
    std::cout << "\x1b[H\x1b[2J";
    table.Print(std::cout, color_);
    std::cout << "\n";
    for (const std::string& line : lines_) std::cout << line << "\n";
    for (const auto& [address, message] : trouble_) {
      std::cout << address << ": not reachable: " << message << "\n";
    }
    std::cout.flush();
  }

  const Options& options_;
  const bool several_;
  const bool live_;
  const bool color_;
  std::mutex mu_;
  std::condition_variable changed_;
  Report report_;
  std::map<std::string, Breakers> breakers_;
  std::map<std::string, std::string> trouble_;
  std::deque<std::string> lines_;
};

// One watch after another, until `end` or an error that stays.
void WatchOne(const Process& process, const Options& options,
              Clock::time_point end, View* view) {
  pb::WatchBreakersRequest request;
  *request.mutable_filter() = options.filter;
  while (true) {
    const Duration left = end == Clock::time_point::max()
                              ? Duration::zero()
                              : Duration(end - Clock::now());
    if (left < Duration::zero()) return;
    const auto context = process.NewContext(left);
    const auto reader = process.stub().WatchBreakers(context.get(), request);
    pb::WatchBreakersResponse response;
    while (reader->Read(&response)) view->Hear(process.address(), response);
    const grpc::Status status = reader->Finish();
    const bool time_over = Clock::now() >= end;
    if (time_over || status.ok()) return;
    if (!view->HearEnd(process.address(), status)) return;
    std::this_thread::sleep_for(kAgainAfter);
  }
}

}  // namespace

ExitCode Watch(const Options& options, const Processes& processes) {
  const Clock::time_point end = options.length > Duration::zero()
                                    ? Clock::now() + options.length
                                    : Clock::time_point::max();
  View view(options, processes.size() > 1);
  std::atomic<int> running{static_cast<int>(processes.size())};
  std::vector<std::thread> threads;
  threads.reserve(processes.size());
  for (const auto& process : processes) {
    threads.emplace_back([&, &process = *process] {
      WatchOne(process, options, end, &view);
      --running;
    });
  }
  if (view.live()) view.Draw(end, running);
  for (std::thread& thread : threads) thread.join();
  return view.Finish();
}

}  // namespace grpc_resilience::tools
