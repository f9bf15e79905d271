#include "core/utf8.h"

#include <cstddef>

namespace grpc_resilience::internal {
namespace {

struct LeadByte {
  std::size_t length;  // of the character; 0: none begins so
  unsigned char low;   // the range of the second byte
  unsigned char high;
};

// Without overlong forms, surrogates and what is beyond U+10FFFF.
LeadByte Classify(unsigned char lead) {
  if (lead < 0x80) return {1, 0, 0};
  if (lead < 0xC2) return {0, 0, 0};
  if (lead < 0xE0) return {2, 0x80, 0xBF};
  if (lead == 0xE0) return {3, 0xA0, 0xBF};
  if (lead == 0xED) return {3, 0x80, 0x9F};
  if (lead < 0xF0) return {3, 0x80, 0xBF};
  if (lead == 0xF0) return {4, 0x90, 0xBF};
  if (lead < 0xF4) return {4, 0x80, 0xBF};
  if (lead == 0xF4) return {4, 0x80, 0x8F};
  return {0, 0, 0};
}

// Length of the valid character at the start of `text`; 0: there is none.
std::size_t CharacterAt(std::string_view text) {
  const auto byte = [&](std::size_t i) {
    return static_cast<unsigned char>(text[i]);
  };
  const LeadByte lead = Classify(byte(0));
  if (lead.length <= 1) return lead.length;
  if (text.size() < lead.length) return 0;
  if (byte(1) < lead.low || byte(1) > lead.high) return 0;
  for (std::size_t i = 2; i < lead.length; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return 0;
  }
  return lead.length;
}

}  // namespace

std::string ValidUtf8(std::string_view text) {
  std::string valid;
  valid.reserve(text.size());
  while (!text.empty()) {
    const std::size_t length = CharacterAt(text);
    if (length == 0) {
      valid += '?';
      text.remove_prefix(1);
    } else {
      valid += text.substr(0, length);
      text.remove_prefix(length);
    }
  }
  return valid;
}

}  // namespace grpc_resilience::internal
