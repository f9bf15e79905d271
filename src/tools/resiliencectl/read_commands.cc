#include <algorithm>
#include <iostream>
#include <tuple>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "admin/messages.h"
#include "admin/words.h"
#include "tools/resiliencectl/breaker_table.h"
#include "tools/resiliencectl/commands.h"
#include "tools/resiliencectl/near_names.h"
#include "tools/resiliencectl/report.h"

namespace grpc_resilience::tools {
namespace {

using Stub = pb::ResilienceAdmin::Stub;

template <typename Request>
Request AboutKey(const Options& options) {
  Request request;
  *request.mutable_key() = options.key;
  return request;
}

// A line that says which process, when there are several.
void PrintAddress(const std::string& address, const Processes& processes) {
  if (processes.size() > 1) std::cout << address << ":\n";
}

// Calls `show` with each answer that is OK, or prints it as JSON.
template <typename Response, typename Show>
void ShowEach(const std::vector<Answer<Response>>& answers,
              const Options& options, Report* report, const Show& show) {
  for (const Answer<Response>& answer : answers) {
    if (!report->Check(answer.address, answer.status)) continue;
    if (options.json) {
      report->Json(answer.address, answer.response);
    } else {
      show(answer.address, answer.response);
    }
  }
}

void PrintRule(const std::string& rule, const std::string& text) {
  std::cout << rule << "\n  " << text << "\n";
}

ExitCode ListPolicies(const Options& options, const Processes& processes) {
  Report report(options);
  const auto all = [&](const Process& process,
                       pb::ListPoliciesResponse* response) {
    pb::ListPoliciesRequest request;
    request.set_page_size(1000);
    do {
      pb::ListPoliciesResponse page;
      const auto context = process.NewContext(options.timeout);
      grpc::Status status =
          process.stub().ListPolicies(context.get(), request, &page);
      if (!status.ok()) return status;
      for (auto& rule : *page.mutable_rules()) {
        *response->add_rules() = std::move(rule);
      }
      request.set_page_token(page.next_page_token());
    } while (!request.page_token().empty());
    return grpc::Status::OK;
  };
  ShowEach(AskAll<pb::ListPoliciesResponse>(processes, all), options, &report,
           [&](const std::string& address, const auto& response) {
             PrintAddress(address, processes);
             for (const auto& rule : response.rules()) {
               PrintRule(rule.rule(), rule.has_method() ? rule.method().text()
                                                        : rule.target().text());
             }
           });
  return report.Finish();
}

}  // namespace

ExitCode Finish(const Report& report, const Options& options,
                const Processes& processes) {
  if (!report.nowhere()) return report.Finish();
  std::vector<std::string> names;
  const auto answers = AskAll<pb::ListBreakersResponse>(
      processes,
      [&](const Process& process, pb::ListBreakersResponse* response) {
        return ListAll(process, options, {}, response);
      });
  for (const auto& answer : answers) {
    for (const pb::Breaker& breaker : answer.response.breakers()) {
      names.push_back(NameOf(breaker.key()));
    }
  }
  const ExitCode code = report.Finish();
  const auto near = NearNames(NameOf(options.key), names, 3);
  if (!near.empty()) {
    std::cerr << "did you mean: " << absl::StrJoin(near, ", ") << "\n";
  }
  return code;
}

ExitCode List(const Options& options, const Processes& processes) {
  Report report(options);
  std::vector<BreakerOf> breakers;
  const auto answers = AskAll<pb::ListBreakersResponse>(
      processes,
      [&](const Process& process, pb::ListBreakersResponse* response) {
        return ListAll(process, options, options.filter, response);
      });
  ShowEach(answers, options, &report,
           [&](const std::string& address, const auto& response) {
             for (const pb::Breaker& breaker : response.breakers()) {
               breakers.push_back({address, breaker});
             }
           });
  // One target below the other, whichever process it is in.
  std::stable_sort(breakers.begin(), breakers.end(),
                   [](const BreakerOf& a, const BreakerOf& b) {
                     const auto name = [](const BreakerOf& of) {
                       const pb::BreakerKey& key = of.breaker.key();
                       return std::tie(key.target(), key.method(),
                                       key.custom());
                     };
                     return name(a) < name(b);
                   });
  if (!breakers.empty()) {
    BreakerTable(breakers, processes.size() > 1)
        .Print(std::cout, WantsColor(options.color));
  }
  return report.Finish();
}

ExitCode Get(const Options& options, const Processes& processes) {
  Report report(options);
  std::vector<BreakerOf> breakers;
  ShowEach(AskAll(processes, options, AboutKey<pb::GetBreakerRequest>(options),
                  &Stub::GetBreaker),
           options, &report,
           [&](const std::string& address, const auto& response) {
             breakers.push_back({address, response.breaker()});
           });
  if (!breakers.empty()) {
    BreakerTable(breakers, processes.size() > 1)
        .Print(std::cout, WantsColor(options.color));
  }
  return Finish(report, options, processes);
}

ExitCode Explain(const Options& options, const Processes& processes) {
  Report report(options);
  ShowEach(
      AskAll(processes, options, AboutKey<pb::ExplainBreakerRequest>(options),
             &Stub::ExplainBreaker),
      options, &report, [&](const std::string& address, const auto& response) {
        PrintAddress(address, processes);
        std::cout << response.summary() << "\n";
        for (const std::string& detail : response.details()) {
          std::cout << "  " << detail << "\n";
        }
      });
  return Finish(report, options, processes);
}

ExitCode Transitions(const Options& options, const Processes& processes) {
  Report report(options);
  ShowEach(
      AskAll(processes, options, AboutKey<pb::ListTransitionsRequest>(options),
             &Stub::ListTransitions),
      options, &report, [&](const std::string& address, const auto& response) {
        PrintAddress(address, processes);
        for (const pb::Transition& transition : response.transitions()) {
          std::cout << ClockOf(transition.time()) << " " << TextOf(transition)
                    << "\n";
        }
      });
  return Finish(report, options, processes);
}

ExitCode Policy(const Options& options, const Processes& processes) {
  if (options.key.target().empty()) return ListPolicies(options, processes);
  Report report(options);
  pb::ResolvePolicyRequest request;
  request.set_target(options.key.target());
  request.set_method(options.key.method());
  ShowEach(
      AskAll(processes, options, request, &Stub::ResolvePolicy), options,
      &report, [&](const std::string& address, const auto& response) {
        PrintAddress(address, processes);
        PrintRule("calls: " + response.method_rule(), response.method().text());
        PrintRule("breaker: " + response.target_rule(),
                  response.target().text());
        if (response.has_breaker()) {
          std::cout << "breaker of these calls: " << NameOf(response.breaker())
                    << "\n";
        }
      });
  return report.Finish();
}

ExitCode Outcomes(const Options& options, const Processes& processes) {
  Report report(options);
  Table table({{"TIME", Color::kBold},
               {"OUTCOME", Color::kBold},
               {"CODE", Color::kBold},
               {"LATENCY", Color::kBold},
               {"ATTEMPT", Color::kBold},
               {"METHOD", Color::kBold}});
  ShowEach(
      AskAll(processes, options, AboutKey<pb::ListOutcomesRequest>(options),
             &Stub::ListOutcomes),
      options, &report, [&](const std::string&, const auto& response) {
        for (const pb::Outcome& outcome : response.outcomes()) {
          const bool bad = outcome.kind() == pb::Outcome::FAILURE;
          table.Add({ClockOf(outcome.time()),
                     {pb::Outcome::Kind_Name(outcome.kind()),
                      bad ? Color::kRed : Color::kNone},
                     outcome.code(),
                     internal::Roughly(internal::FromProto(outcome.latency())),
                     absl::StrCat(outcome.attempt()),
                     outcome.method()});
        }
      });
  if (table.size() > 0) table.Print(std::cout, WantsColor(options.color));
  return Finish(report, options, processes);
}

}  // namespace grpc_resilience::tools
