// Conversion between control.proto and the transaction room's messages: the only place that knows
// the wire form of each kind of subject. A new kind is added here.
//
// Pure.
#pragma once

#include "controlplane/records/wide_frames.hpp"
#include "controlplane/transaction/messages.hpp"
#include "tributary/control.pb.h"

#include <optional>
#include <string>

namespace tributary::southbound::protocol {

/// Throws std::invalid_argument for a subject that control.proto does not have, and for content
/// that a switch reported without its details.
[[nodiscard]] control::ManagerMessage message_of(const transaction::Message& message);

/// Nothing when it is not an answer in a transaction.
[[nodiscard]] std::optional<transaction::Answer> answer_of(const control::SwitchMessage& message);

/// The first text that is not printable, for a person; nothing when all are. Such a message is
/// refused: its texts would reach logs and terminals.
[[nodiscard]] std::optional<std::string> unprintable_text(const control::SwitchMessage& message);

/// The wide frames of a tree.
[[nodiscard]] records::WideFrames frames_of(const control::Tree& tree);

/// Trees with numbers beyond any table are left out.
[[nodiscard]] transaction::Hello hello_of(const control::SwitchHello& hello);

} // namespace tributary::southbound::protocol
