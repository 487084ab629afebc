// What control.proto says, as the transaction room's messages, and the other way: the one place
// that knows how each kind of subject looks on the wire. A new kind gets its lines here.
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
/// that only a switch has told of.
[[nodiscard]] control::ManagerMessage message_of(const transaction::Message& message);

/// None when it is no answer in a transaction.
[[nodiscard]] std::optional<transaction::Answer> answer_of(const control::SwitchMessage& message);

/// Which text of it is not printable, for a person; none when all are. Such a message is refused:
/// its texts would reach logs and terminals.
[[nodiscard]] std::optional<std::string> unprintable_text(const control::SwitchMessage& message);

/// What a tree has for wide frames.
[[nodiscard]] records::WideFrames frames_of(const control::Tree& tree);

/// Trees whose number no table has are left out.
[[nodiscard]] transaction::Hello hello_of(const control::SwitchHello& hello);

} // namespace tributary::southbound::protocol
