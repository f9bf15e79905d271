#include "tools/resiliencectl/processes.h"

#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "admin/caller.h"

namespace grpc_resilience::tools {
namespace {

constexpr const char* kTokenVariable = "RESILIENCECTL_TOKEN";
constexpr const char* kDefaultAddress = "localhost:9901";

absl::StatusOr<std::string> ReadFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  if (!file || !(text << file.rdbuf())) {
    return absl::InvalidArgumentError(absl::StrCat("can't read ", path));
  }
  return text.str();
}

absl::StatusOr<std::string> TokenOf(const Options& options) {
  if (!options.token_file.empty()) {
    auto token = ReadFile(options.token_file);
    if (!token.ok()) return token;
    return std::string(absl::StripAsciiWhitespace(*token));
  }
  const char* const token = std::getenv(kTokenVariable);
  return std::string(token == nullptr ? "" : token);
}

bool IsLocal(const std::string& address) {
  return absl::StartsWith(address, "localhost:") ||
         internal::IsLocalPeer(address) ||
         internal::IsLocalPeer("ipv4:" + address) ||
         internal::IsLocalPeer("ipv6:" + address);
}

absl::StatusOr<std::shared_ptr<grpc::ChannelCredentials>> CredentialsOf(
    const Options& options) {
  if (!options.tls) return grpc::InsecureChannelCredentials();
  grpc::SslCredentialsOptions ssl;
  const std::pair<const std::string&, std::string&> files[] = {
      {options.ca_file, ssl.pem_root_certs},
      {options.certificate_file, ssl.pem_cert_chain},
      {options.key_file, ssl.pem_private_key}};
  for (const auto& [path, text] : files) {
    if (path.empty()) continue;
    auto read = ReadFile(path);
    if (!read.ok()) return read.status();
    text = *std::move(read);
  }
  return grpc::SslCredentials(ssl);
}

}  // namespace

std::unique_ptr<grpc::ClientContext> Process::NewContext(
    Duration timeout) const {
  auto context = std::make_unique<grpc::ClientContext>();
  if (!token_.empty()) {
    context->AddMetadata("authorization", "Bearer " + token_);
  }
  if (timeout > Duration::zero()) {
    context->set_deadline(std::chrono::system_clock::now() + timeout);
  }
  return context;
}

absl::StatusOr<Processes> Connect(const Options& options) {
  const auto token = TokenOf(options);
  if (!token.ok()) return token.status();
  const auto credentials = CredentialsOf(options);
  if (!credentials.ok()) return credentials.status();
  grpc::ChannelArguments arguments;
  if (!options.server_name.empty()) {
    arguments.SetSslTargetNameOverride(options.server_name);
  }
  // A process that comes back is seen soon.
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 1000);
  std::vector<std::string> addresses = options.addresses;
  if (addresses.empty()) addresses.emplace_back(kDefaultAddress);
  Processes processes;
  for (const std::string& address : addresses) {
    if (!token->empty() && !options.tls && !IsLocal(address)) {
      return absl::InvalidArgumentError(absl::StrCat(
          "the token would go to ", address, " in clear: use --tls"));
    }
    processes.push_back(std::make_unique<Process>(
        address, grpc::CreateCustomChannel(address, *credentials, arguments),
        *token));
  }
  return processes;
}

grpc::Status ListAll(const Process& process, const Options& options,
                     const pb::BreakerFilter& filter,
                     pb::ListBreakersResponse* response) {
  pb::ListBreakersRequest request;
  *request.mutable_filter() = filter;
  request.set_page_size(1000);
  do {
    pb::ListBreakersResponse page;
    const auto context = process.NewContext(options.timeout);
    grpc::Status status =
        process.stub().ListBreakers(context.get(), request, &page);
    if (!status.ok()) return status;
    for (pb::Breaker& breaker : *page.mutable_breakers()) {
      *response->add_breakers() = std::move(breaker);
    }
    request.set_page_token(page.next_page_token());
  } while (!request.page_token().empty());
  return grpc::Status::OK;
}

}  // namespace grpc_resilience::tools
