#include "grpc_resilience/admin_service.h"

#include <unistd.h>

#include <cstddef>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "admin/admin_service_impl.h"
#include "admin/line_log.h"
#include "admin/words.h"
#include "core/fault_list.h"

namespace grpc_resilience {
namespace {

absl::Status Check(const Resilience* resilience, const AdminOptions& options) {
  internal::FaultLines lines;
  internal::FaultsOf faults("admin service", &lines);
  if (resilience == nullptr) faults.Add("resilience is null");
  if (options.authoriser == nullptr) {
    faults.Add(
        "authoriser is null: say who may use the service "
        "(LocalReadOnlyAuthoriser, say)");
  }
  faults.InRange("max_watchers", options.max_watchers, 1, 100'000);
  faults.InRange("max_recordings", options.max_recordings, 1, 1000);
  faults.NotBelow("watcher_patience", options.watcher_patience, "1 s",
                  std::chrono::seconds(1));
  if (lines.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrJoin(lines, "\n"));
}

constexpr std::size_t kWaitingLines = 256;

AdminLog StderrLog() {
  return [lines = std::make_shared<const internal::LineLog>(
              STDERR_FILENO, kWaitingLines)](const AdminLogEntry& entry) {
    lines->Add(ToString(entry));
  };
}

}  // namespace

std::string ToString(const AdminLogEntry& entry) {
  std::string text = absl::StrCat(
      "admin: ", entry.who.empty() ? "(unknown)" : absl::CHexEscape(entry.who),
      " (", absl::CHexEscape(entry.peer), ") ", entry.action);
  const std::string name =
      internal::NameOf(entry.key.target, entry.key.method, entry.key.custom);
  if (!name.empty()) {
    absl::StrAppend(&text, " \"", absl::CHexEscape(name), "\"");
  }
  if (!entry.what.empty()) absl::StrAppend(&text, " ", entry.what);
  if (!entry.reason.empty()) {
    absl::StrAppend(&text, ", reason \"", absl::CHexEscape(entry.reason), "\"");
  }
  absl::StrAppend(
      &text, ": ",
      entry.result.ok() ? "OK" : absl::CHexEscape(entry.result.ToString()));
  if (entry.not_logged > 0) {
    absl::StrAppend(&text, " (and ", entry.not_logged,
                    " refused calls before it)");
  }
  return text;
}

absl::StatusOr<std::unique_ptr<AdminService>> AdminService::Create(
    std::shared_ptr<Resilience> resilience, AdminOptions options) {
  if (absl::Status status = Check(resilience.get(), options); !status.ok()) {
    return status;
  }
  if (!options.log) options.log = StderrLog();
  return std::unique_ptr<AdminService>(
      new AdminService(std::make_unique<internal::AdminServiceImpl>(
          std::move(resilience), std::move(options))));
}

AdminService::AdminService(std::unique_ptr<internal::AdminServiceImpl> impl)
    : impl_(std::move(impl)) {}

AdminService::~AdminService() = default;

grpc::Service* AdminService::service() { return impl_.get(); }

void AdminService::EndWatches() { impl_->EndWatches(); }

}  // namespace grpc_resilience
