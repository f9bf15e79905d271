#include "tools/queue/queue_commands.h"

#include <google/protobuf/struct.pb.h>
#include <google/protobuf/util/json_util.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdint>
#include <iomanip>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "grpc_resilience/sqlite_queue_store.h"

namespace grpc_resilience::tools {
namespace {

// Of one question to the store.
constexpr int kPage = 500;

WallTime Now() {
  return std::chrono::time_point_cast<std::chrono::milliseconds>(
      std::chrono::system_clock::now());
}

std::string TimeText(WallTime time) {
  return absl::FormatTime("%Y-%m-%dT%H:%M:%SZ", absl::FromChrono(time),
                          absl::UTCTimeZone());
}

const char* StateOf(const QueueEntry& entry, WallTime now) {
  if (entry.dead) return "dead";
  if (!entry.owner.empty() && entry.leased_until > now) return "delivering";
  return entry.not_before > now ? "backoff" : "waiting";
}

absl::Status PrintCounts(QueueStore& store, std::ostream& out) {
  const auto counts = store.Count();
  if (!counts.ok()) return counts.status();
  out << counts->waiting << " to be delivered, " << counts->dead << " dead\n";
  return absl::OkStatus();
}

void PrintLine(const QueueEntry& entry, WallTime now, std::ostream& out) {
  out << std::left << std::setw(8) << entry.id << std::setw(12)
      << StateOf(entry, now) << std::setw(22) << TimeText(entry.queued)
      << std::setw(9) << entry.deliveries << entry.target << " "
      << entry.method;
  if (!entry.last_error.empty()) out << "  " << entry.last_error;
  out << "\n";
}

std::string ToJson(const QueueEntry& entry, WallTime now) {
  google::protobuf::Struct json;
  auto& fields = *json.mutable_fields();
  // As text: JSON's numbers are exact up to 2^53 only.
  fields["id"].set_string_value(absl::StrCat(entry.id));
  fields["state"].set_string_value(StateOf(entry, now));
  fields["target"].set_string_value(entry.target);
  fields["method"].set_string_value(entry.method);
  fields["request"].set_string_value(absl::Base64Escape(entry.request));
  fields["queued"].set_string_value(TimeText(entry.queued));
  fields["expires"].set_string_value(TimeText(entry.expires));
  fields["deliveries"].set_number_value(entry.deliveries);
  fields["ordering_key"].set_string_value(
      absl::Base64Escape(entry.ordering_key));
  fields["last_error"].set_string_value(
      absl::Utf8SafeCEscape(entry.last_error));
  auto* metadata = fields["metadata"].mutable_list_value();
  for (const auto& [key, value] : entry.metadata) {
    auto* pair = metadata->add_values()->mutable_struct_value();
    (*pair->mutable_fields())["key"].set_string_value(key);
    (*pair->mutable_fields())["value"].set_string_value(
        absl::Base64Escape(value));
  }
  std::string text;
  static_cast<void>(google::protobuf::util::MessageToJsonString(json, &text));
  return text;
}

/// What the options of the command line are read into.
struct QueueArguments {
  std::string file;
  QueueStore::Filter filter;
  QueueStore::Ids ids;
  bool all = false;
};

}  // namespace

absl::Status ListQueue(QueueStore& store, const QueueStore::Filter& filter,
                       std::ostream& out) {
  const auto entries = store.List(filter);
  if (!entries.ok()) return entries.status();
  const WallTime now = Now();
  for (const QueueEntry& entry : *entries) PrintLine(entry, now, out);
  return PrintCounts(store, out);
}

absl::Status RetryQueue(QueueStore& store, const QueueStore::Ids& ids,
                        std::ostream& out) {
  const auto revived = store.Revive(ids, Now());
  if (!revived.ok()) return revived.status();
  out << *revived << " to be delivered again\n";
  if (!ids.empty() && static_cast<std::size_t>(*revived) < ids.size()) {
    return absl::NotFoundError("the others are no dead letters");
  }
  return absl::OkStatus();
}

absl::Status DropFromQueue(QueueStore& store, const QueueStore::Ids& ids,
                           std::ostream& out) {
  if (ids.empty()) return absl::InvalidArgumentError("no ids");
  const auto dropped = store.Drop(ids, Now());
  if (!dropped.ok()) return dropped.status();
  out << *dropped << " dropped\n";
  if (static_cast<std::size_t>(*dropped) < ids.size()) {
    return absl::NotFoundError(
        "the others are not there or are being delivered");
  }
  return absl::OkStatus();
}

absl::Status ExportQueue(QueueStore& store, bool only_dead, std::ostream& out) {
  QueueStore::Filter filter;
  filter.only_dead = only_dead;
  filter.limit = kPage;
  for (;;) {
    const auto entries = store.List(filter);
    if (!entries.ok()) return entries.status();
    if (entries->empty()) return absl::OkStatus();
    const WallTime now = Now();
    for (const QueueEntry& entry : *entries) out << ToJson(entry, now) << "\n";
    filter.after_id = entries->back().id;
  }
}

void AddQueueCommands(CLI::App& app, std::ostream& out,
                      std::function<void(const absl::Status&)> end) {
  auto arguments = std::make_shared<QueueArguments>();
  CLI::App* const queue =
      app.add_subcommand("queue", "requests that wait for delivery");
  queue->require_subcommand(1);
  queue->add_option("--file", arguments->file, "the file of the queue")
      ->required()
      ->check(CLI::ExistingFile);
  using Work = std::function<absl::Status(QueueStore&)>;
  const auto add = [&](const char* name, const char* help, const Work& work) {
    CLI::App* const command = queue->add_subcommand(name, help);
    command->callback([arguments, end, work] {
      SqliteQueueStore store(arguments->file, std::chrono::seconds(5));
      end(work(store));
    });
    return command;
  };
  CLI::App* const list =
      add("list", "one line for each entry", [arguments, &out](QueueStore& s) {
        return ListQueue(s, arguments->filter, out);
      });
  list->add_flag("--dead", arguments->filter.only_dead, "dead letters only");
  list->add_option("--target", arguments->filter.target, "of this target");
  list->add_option("--limit", arguments->filter.limit, "lines at most")
      ->check(CLI::PositiveNumber);
  CLI::App* const retry = add(
      "retry", "delivers dead letters again", [arguments, &out](QueueStore& s) {
        if (arguments->ids.empty() != arguments->all) {
          return absl::InvalidArgumentError("either ids or --all");
        }
        return RetryQueue(s, arguments->ids, out);
      });
  retry->add_option("ids", arguments->ids, "of dead letters");
  retry->add_flag("--all", arguments->all, "every dead letter");
  CLI::App* const drop =
      add("drop", "removes entries for good", [arguments, &out](QueueStore& s) {
        return DropFromQueue(s, arguments->ids, out);
      });
  drop->add_option("ids", arguments->ids, "of the entries")->required();
  CLI::App* const dump =
      add("export", "every entry as a line of JSON, requests in Base64",
          [arguments, &out](QueueStore& s) {
            return ExportQueue(s, arguments->filter.only_dead, out);
          });
  dump->add_flag("--dead", arguments->filter.only_dead, "dead letters only");
}

}  // namespace grpc_resilience::tools
