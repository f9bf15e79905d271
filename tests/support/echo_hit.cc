#include "support/echo_hit.h"

#include <cstdint>
#include <cstdlib>
#include <random>
#include <string_view>

namespace grpc_resilience::test {
namespace {

constexpr std::size_t kKeptHits = 100;

std::int64_t NowNs() {
  return std::chrono::steady_clock::now().time_since_epoch().count();
}

std::uint64_t Fnv1a(std::uint64_t hash, std::string_view bytes) {
  for (const char c : bytes) {
    hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211u;
  }
  return hash;
}

double RandomShare() {
  thread_local std::mt19937_64 engine{std::random_device{}()};
  return std::uniform_real_distribution<double>(0, 1)(engine);
}

std::string Numbered(std::string text, int n) {
  for (std::size_t at = text.find('#'); at != std::string::npos;
       at = text.find('#', at + 1)) {
    text.replace(at, 1, std::to_string(n));
  }
  return text;
}

bool Meets(int times, int n) { return times < 0 || n <= times; }

int PreviousAttempts(const Observation& seen) {
  for (const Metadata& entry : seen.metadata()) {
    if (entry.key() == "grpc-previous-rpc-attempts") {
      return std::atoi(entry.value().c_str());
    }
  }
  return 0;
}

}  // namespace

int HitLog::Add(const std::string& key, const Observation& observation) {
  std::lock_guard<std::mutex> lock(mu_);
  ++total_;
  Key& entry = keys_[key];
  ++entry.count;
  if (entry.hits.size() < kKeptHits) entry.hits[entry.count] = observation;
  return entry.count;
}

void HitLog::End(const std::string& key, int hit,
                 const Observation& observation) {
  std::lock_guard<std::mutex> lock(mu_);
  const auto found = keys_.find(key);
  if (found == keys_.end()) return;
  const auto kept = found->second.hits.find(hit);
  if (kept != found->second.hits.end()) kept->second = observation;
}

HitsResponse HitLog::Get(const std::string& key) const {
  HitsResponse response;
  response.set_running(running);
  std::lock_guard<std::mutex> lock(mu_);
  if (key.empty()) {
    response.set_count(total_);
    return response;
  }
  const auto found = keys_.find(key);
  if (found == keys_.end()) return response;
  response.set_count(found->second.count);
  for (const auto& [hit, observation] : found->second.hits) {
    *response.add_hits() = observation;
  }
  return response;
}

void HitLog::Clear() {
  std::lock_guard<std::mutex> lock(mu_);
  keys_.clear();
  total_ = 0;
}

void FaultSwitch::Set(const GlobalFault& fault) {
  std::lock_guard<std::mutex> lock(mu_);
  fault_ = fault;
}

GlobalFault FaultSwitch::Draw(const std::string& method) const {
  std::lock_guard<std::mutex> lock(mu_);
  if (fault_.kind() == GlobalFault::NONE) return {};
  if (!fault_.method().empty() && fault_.method() != method) return {};
  if (fault_.probability() > 0 && RandomShare() >= fault_.probability()) {
    return {};
  }
  return fault_;
}

Hit::Hit(HitLog* log, const FaultSwitch* faults, Observation seen)
    : log_(log), seen_(std::move(seen)), fault_(faults->Draw(seen_.method())) {
  ++log_->running;
  seen_.set_arrived_ns(NowNs());
  seen_.set_request_hash(14695981039346656037u);
}

Hit::~Hit() {
  --log_->running;
  seen_.set_ended_ns(NowNs());
  if (number_ > 0) log_->End(key_, number_, seen_);
}

void Hit::AddRequest(const EchoRequest& request) {
  const std::string bytes = request.SerializeAsString();
  seen_.set_request_hash(Fnv1a(seen_.request_hash(), bytes));
  seen_.set_request_bytes(seen_.request_bytes() +
                          static_cast<std::int64_t>(bytes.size()));
}

void Hit::Begin(const EchoRequest& request) {
  script_ = &request.script();
  key_ = request.key();
  if (script_->by_attempt_header()) {
    n_ = 1 + PreviousAttempts(seen_);
  } else {
    n_ = number_ = log_->Add(key_, seen_);
  }
  if (script_->number_metadata()) {
    initial_metadata_.emplace_back("y", std::to_string(n_));
    trailing_metadata_.emplace_back("x", std::to_string(n_));
  }
}

bool Hit::Hangs() const {
  return fault_.kind() == GlobalFault::HANG ||
         Meets(script_->hang_times(), n_) ||
         (script_->hang_from() > 0 && n_ >= script_->hang_from());
}

std::chrono::nanoseconds Hit::Delay() const {
  std::chrono::duration<double, std::milli> delay{0};
  if (script_->delay_times() == 0 || Meets(script_->delay_times(), n_)) {
    delay += std::chrono::milliseconds(script_->delay_ms());
  }
  if (script_->random_delay_ms() > 0) {
    delay +=
        RandomShare() * std::chrono::milliseconds(script_->random_delay_ms());
  }
  return std::chrono::duration_cast<std::chrono::nanoseconds>(delay);
}

bool Hit::Fails() const { return Meets(script_->fail_times(), n_); }

grpc::Status Hit::Verdict() {
  grpc::Status status;
  if (fault_.kind() == GlobalFault::FAIL) {
    status = {static_cast<grpc::StatusCode>(fault_.code()), fault_.message()};
  } else if (Fails()) {
    status = {static_cast<grpc::StatusCode>(script_->code()),
              Numbered(script_->message(), n_),
              Numbered(script_->details(), n_)};
    for (const Metadata& entry : script_->trailing()) {
      trailing_metadata_.emplace_back(entry.key(), entry.value());
    }
    if (script_->has_pushback_ms()) {
      trailing_metadata_.emplace_back("grpc-retry-pushback-ms",
                                      script_->pushback_ms());
    }
  } else if (script_->failure_probability() > 0 &&
             RandomShare() < script_->failure_probability()) {
    const int code =
        script_->code() != 0 ? script_->code() : grpc::StatusCode::UNAVAILABLE;
    status = {static_cast<grpc::StatusCode>(code), "failed by chance"};
  }
  seen_.set_code(status.error_code());
  return status;
}

void Hit::Fill(EchoResponse* response) const {
  *response->mutable_items() = script_->items();
  response->set_hit(number_);
  *response->mutable_observed() = seen_;
  if (script_->response_bytes() > 0) {
    response->set_data(std::string(script_->response_bytes(), 'r'));
  }
}

}  // namespace grpc_resilience::test
