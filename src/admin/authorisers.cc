#include <algorithm>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "admin/constant_time.h"
#include "grpc_resilience/admin_authoriser.h"

namespace grpc_resilience {
namespace {

using Who = absl::StatusOr<std::string>;

absl::Status MayOnlyRead() {
  return absl::PermissionDeniedError("may read, not change");
}

class LocalReadOnly : public AdminAuthoriser {
 public:
  Who Authorise(const AdminCaller& caller, AdminRight right) const override {
    if (!caller.local) {
      return absl::UnauthenticatedError("only callers on this machine");
    }
    if (right == AdminRight::kChange) return MayOnlyRead();
    return "local";
  }
};

class StaticToken : public AdminAuthoriser {
 public:
  explicit StaticToken(AdminTokens tokens) : tokens_(std::move(tokens)) {}

  Who Authorise(const AdminCaller& caller, AdminRight right) const override {
    if (!caller.token) return absl::UnauthenticatedError("no token");
    // Both, always: which one it was must not show either.
    const bool may_change = Matches(tokens_.change, *caller.token);
    const bool may_read = Matches(tokens_.read, *caller.token);
    if (may_change) return "change token";
    if (!may_read) return absl::UnauthenticatedError("wrong token");
    if (right == AdminRight::kChange) return MayOnlyRead();
    return "read token";
  }

 private:
  static bool Matches(const std::optional<std::string>& secret,
                      std::string_view given) {
    return secret && internal::EqualInConstantTime(*secret, given);
  }

  const AdminTokens tokens_;
};

class PeerName : public AdminAuthoriser {
 public:
  explicit PeerName(AdminPeerNames names) : names_(std::move(names)) {}

  Who Authorise(const AdminCaller& caller, AdminRight right) const override {
    for (const std::string& name : caller.names) {
      if (Contains(names_.change, name)) return name;
    }
    for (const std::string& name : caller.names) {
      if (!Contains(names_.read, name)) continue;
      if (right == AdminRight::kChange) return MayOnlyRead();
      return name;
    }
    return absl::UnauthenticatedError("no certificate of a known name");
  }

 private:
  static bool Contains(const std::vector<std::string>& names,
                       const std::string& name) {
    return std::find(names.begin(), names.end(), name) != names.end();
  }

  const AdminPeerNames names_;
};

class Function : public AdminAuthoriser {
 public:
  explicit Function(AdminFunction function) : function_(std::move(function)) {}
  Who Authorise(const AdminCaller& caller, AdminRight right) const override {
    return function_(caller, right);
  }

 private:
  const AdminFunction function_;
};

class Any : public AdminAuthoriser {
 public:
  explicit Any(std::vector<AdminAuthoriserPtr> authorisers)
      : authorisers_(std::move(authorisers)) {}

  // Of the refusals, one that knows the caller says more.
  Who Authorise(const AdminCaller& caller, AdminRight right) const override {
    Who refusal = absl::UnauthenticatedError("unknown caller");
    bool known = false;
    for (const AdminAuthoriserPtr& authoriser : authorisers_) {
      Who who = authoriser->Authorise(caller, right);
      if (who.ok()) return who;
      if (known) continue;
      known = !absl::IsUnauthenticated(who.status());
      refusal = std::move(who);
    }
    return refusal;
  }

 private:
  const std::vector<AdminAuthoriserPtr> authorisers_;
};

// What a header may hold, without the blanks that would be lost at its ends.
bool Sendable(const std::string& token) {
  return std::all_of(token.begin(), token.end(),
                     [](char c) { return c > ' ' && c <= '~'; });
}

// Never quotes the token.
absl::Status CheckToken(const char* name,
                        const std::optional<std::string>& token) {
  if (!token) return absl::OkStatus();
  if (token->empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("tokens.", name, " is empty: anybody could send that"));
  }
  if (!Sendable(*token)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "tokens.", name,
        " holds a blank, line end or other byte that can't be sent: must be "
        "visible ASCII"));
  }
  return absl::OkStatus();
}

}  // namespace

AdminAuthoriserPtr LocalReadOnlyAuthoriser() {
  return std::make_shared<const LocalReadOnly>();
}

absl::StatusOr<AdminAuthoriserPtr> StaticTokenAuthoriser(AdminTokens tokens) {
  if (!tokens.read && !tokens.change) {
    return absl::InvalidArgumentError("tokens: neither read nor change is set");
  }
  if (auto status = CheckToken("read", tokens.read); !status.ok()) {
    return status;
  }
  if (auto status = CheckToken("change", tokens.change); !status.ok()) {
    return status;
  }
  if (tokens.read == tokens.change) {
    return absl::InvalidArgumentError(
        "tokens.read and tokens.change are the same: reading would be "
        "changing");
  }
  return std::make_shared<const StaticToken>(std::move(tokens));
}

absl::StatusOr<AdminAuthoriserPtr> PeerNameAuthoriser(AdminPeerNames names) {
  if (names.read.empty() && names.change.empty()) {
    return absl::InvalidArgumentError("names: neither read nor change has any");
  }
  for (const auto* list : {&names.read, &names.change}) {
    if (std::find(list->begin(), list->end(), "") != list->end()) {
      return absl::InvalidArgumentError("names: an empty name");
    }
  }
  return std::make_shared<const PeerName>(std::move(names));
}

absl::StatusOr<AdminAuthoriserPtr> FunctionAuthoriser(AdminFunction function) {
  if (!function) return absl::InvalidArgumentError("function: is empty");
  return std::make_shared<const Function>(std::move(function));
}

absl::StatusOr<AdminAuthoriserPtr> AnyAuthoriser(
    std::vector<AdminAuthoriserPtr> authorisers) {
  if (authorisers.empty()) {
    return absl::InvalidArgumentError("authorisers: there is none");
  }
  if (std::find(authorisers.begin(), authorisers.end(), nullptr) !=
      authorisers.end()) {
    return absl::InvalidArgumentError("authorisers: one is null");
  }
  return std::make_shared<const Any>(std::move(authorisers));
}

}  // namespace grpc_resilience
