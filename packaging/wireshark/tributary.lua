-- Wireshark and tshark: Tributary's frames, every field with a name to filter by.
--
--   tshark -X lua_script:packaging/wireshark/tributary.lua -r capture.pcapng
--   tshark ... -Y 'tributary.tree == 2748 && tributary.rc != 0'
--
-- To have it always, copy this file into the folder "Personal Lua Plugins" (tshark -G folders).
--
-- The meaning of the bytes is in docs/protocol/wire-format.md, hello.md and rdma.md; nothing here is
-- generated from the codecs (include/tributary/wire), so that each can be held against the other.
-- LLDP, pause frames and 802.1Q tags are Wireshark's own; behind a tag it finds this dissector by the
-- EtherType, too.
--
--   first four bytes      DFA         command   it is
--   00 "TRB"                                    a hello, or by its kind a link hello
--   45 ...                multicast             a reduction: the 84-byte frame, or a wide one
--   45 ...                unicast     0xD1      RDMA
--   45 ...                unicast     others    a unicast frame: its header and bytes
--
-- Rules of this file:
--
--   1. No byte is read before have() or need() has said that it is there: frames may be cut anywhere,
--      by the capture (snaplen) or on the wire, and no cut is a Lua error.
--   2. What is wrong with a frame is expert information; its filter is tributary.expert.NAME, NAME
--      being the one that the codecs and the switch's counters have, where they have one.
--   3. State across frames (who answers whom) is made on the first pass, in the order of the file, and
--      only read afterwards, as Wireshark dissects frames again in any order.
--
-- Works with the Lua of Wireshark 4.0 (5.2) and later ones (5.4).

local trb = Proto("tributary", "Tributary in-network reduction")

local WORDS_BYTES = 80 -- of the packet of the 84-byte frame
local REDUCTION_HEADER = 48 -- in front of a reduction's payload
local RDMA_HEADER = 56 -- in front of an RDMA frame's payload
local NO_RESULT = 1023 -- resno of a frame that carries none
local PRE_ARM = 1022 -- seqno of arms of hosts of the hardware fabric

-- Names -----------------------------------------------------------------------------------------

local function of_range(names, from, to, name)
  for code = from, to do
    names[code] = names[code] or name
  end
  return names
end

-- include/tributary/wire/opcode.hpp, which tests/unit/docs/protocol/operators_test.cpp compares: name, class of
-- its numbers, and what groups of them are
local OPERATORS = {
  [0x00] = {"BARRIER", "bits", "nothing"},
  [0x01] = {"BIT_AND", "bits"}, [0x02] = {"BIT_OR", "bits"}, [0x03] = {"BIT_XOR", "bits"},
  [0x10] = {"INT_MIN", "int"}, [0x11] = {"INT_MAX", "int"}, [0x12] = {"INT_MINMAXLOC", "int", "tuple"},
  [0x14] = {"INT_SUM", "int"},
  [0x20] = {"FLT_MIN", "float"}, [0x21] = {"FLT_MAX", "float"}, [0x22] = {"FLT_MINMAXLOC", "float", "tuple"},
  [0x24] = {"FLT_MINNUM", "float"}, [0x25] = {"FLT_MAXNUM", "float"},
  [0x26] = {"FLT_MINMAXNUMLOC", "float", "tuple"},
  [0x28] = {"FLT_SUM_NEAREST", "float"}, [0x29] = {"FLT_SUM_UPWARD", "float"},
  [0x2A] = {"FLT_SUM_DOWNWARD", "float"}, [0x2B] = {"FLT_SUM_TOWARD_ZERO", "float"},
  [0x2C] = {"FLT_SUM_FTZ_NEAREST", "float"}, [0x2D] = {"FLT_SUM_FTZ_UPWARD", "float"},
  [0x2E] = {"FLT_SUM_FTZ_DOWNWARD", "float"}, [0x2F] = {"FLT_SUM_FTZ_TOWARD_ZERO", "float"},
  [0x30] = {"FLT_REPSUM", "limbs", "repsum"},
}
local OPCODES = {}
for code, entry in pairs(OPERATORS) do
  OPCODES[code] = entry[1]
end
of_range(OPCODES, 0, 63, "RESERVED")

local RESULT_CODES = of_range({
  [0] = "success", "flt_inexact", "unassigned", "flt_overflow", "flt_invalid", "repsum_inexact",
  "int_overflow", "contr_overflow", "op_mismatch",
}, 0, 15, "unknown")

-- name, bytes of an element
local FORMS = {
  [1] = {"bits64", 8}, [2] = {"bits32", 4}, [3] = {"bits16", 2}, [4] = {"bits8", 1},
  [5] = {"bfloat16", 2}, [6] = {"tuple", 32}, [7] = {"repsum", 40},
}
local FORM_NAMES = {[0] = "words"}
for form, entry in pairs(FORMS) do
  FORM_NAMES[form] = entry[1]
end

local DSCPS = {[8] = "from the root", [52] = "from a leaf"}
local PACKET_TYPES = {[4] = "restricted", [5] = "RDMA"}
local COMMAND_OPCODES = {[1] = "RDMA", [13] = "reduction"}
local CHECKS = {[0] = "wrong", [1] = "right", [2] = "not verified"}
local HELLO_KINDS = {[1] = "switch port", [2] = "host", [3] = "link hello"}

local RDMA_KINDS = {
  "RQT", "RSP", "WR", "RESEND", "DONE", "RD_RQT", "PROG", "QUERY", "NOCTX", "FIN", "ABORT", "STR", "ACK",
}
local RQT, RSP, WR, RESEND, DONE, RD_RQT, PROG, QUERY, ABORT = 1, 2, 3, 4, 5, 6, 7, 8, 11

local RDMA_STATUSES = {
  [0] = "ok", "busy", "wrong_key", "out_of_bounds", "no_right", "wrong_vni", "length_mismatch",
  "bad_frame_size", "timed_out", "superseded", "deregistered", "cancelled", "restarted",
  "unproven",
}

-- Fields: f.NAME is filtered by as tributary.NAME, with dots for the underscores that are doubled --

local f = {}

local fields = {}
local function field(kind, name, ...)
  f[name] = ProtoField[kind]("tributary." .. name:gsub("__", "."), ...)
  fields[#fields + 1] = f[name]
end

field("string", "kind", "Kind")
field("uint32", "nid", "NID at either end", base.HEX)
field("bytes", "rest", "Bytes that mean nothing here")
field("bytes", "padding", "Bytes behind the packet")

field("uint8", "version", "Version", base.DEC, nil, 0xF0)
field("uint8", "header_words", "Header words", base.DEC, nil, 0x0F)
field("uint8", "dscp", "DSCP", base.DEC, DSCPS, 0xFC)
field("uint8", "ecn", "ECN", base.DEC, nil, 0x03)
field("uint16", "total_length", "Total length", base.DEC)
field("uint16", "vni", "VNI", base.HEX)
field("uint16", "portal_table_index", "Portal table index", base.DEC, nil, 0x3FF8)
field("uint16", "try", "Try", base.DEC, nil, 0x0007)
field("uint8", "ttl", "TTL", base.DEC)
field("uint8", "protocol", "Protocol", base.DEC)
field("uint16", "checksum", "Header checksum", base.HEX)
field("uint8", "checksum__status", "Header checksum status", base.DEC, CHECKS)
field("uint32", "sfa", "Source address (SFA)", base.HEX)
field("uint32", "sfa__nid", "Source NID", base.HEX, nil, 0xFFFFF000)
field("uint32", "sfa__endpoint", "Source endpoint", base.DEC, nil, 0x00000FFF)
field("uint32", "dfa", "Destination address (DFA)", base.HEX)
field("uint32", "dfa__nid", "Destination NID", base.HEX, nil, 0xFFFFF000)
field("uint32", "dfa__endpoint", "Destination endpoint", base.DEC, nil, 0x00000FFF)
field("uint32", "dfa__format", "Format", base.HEX, nil, 0xFF800000)
field("uint32", "dfa__id_high", "Reduction id, bits 4:3", base.DEC, nil, 0x00600000)
field("uint32", "dfa__id_low", "Reduction id, bits 2:0", base.DEC, nil, 0x001C0000)
field("uint32", "dfa__id_top", "Reduction id, bits 6:5", base.DEC, nil, 0x00030000)
field("uint32", "tree", "Tree", base.DEC, nil, 0x0000FFF8)
field("uint32", "dfa__action", "Action", base.DEC, nil, 0x00000007)
field("uint8", "reduction_id", "Reduction id", base.DEC)

field("uint8", "command", "Command", base.HEX)
field("uint8", "command__request", "Request", base.DEC, nil, 0x80)
field("uint8", "command__type", "Packet type", base.DEC, PACKET_TYPES, 0x70)
field("uint8", "command__opcode", "Command opcode", base.DEC, COMMAND_OPCODES, 0x0F)
field("uint8", "command__flush", "Flush", base.DEC, nil, 0x80)
field("uint8", "command__packet_id", "Packet id extension", base.DEC, nil, 0x60)
field("uint8", "command__index", "Index extension", base.DEC, nil, 0x1F)
field("uint64", "signature", "Contribution signature", base.HEX)
field("uint16", "request_flags", "Flags", base.HEX, nil, 0xF000)
field("uint16", "request_length", "Request length", base.DEC, nil, 0x0FFF)
field("uint8", "form", "Form", base.DEC, FORM_NAMES)
field("uint32", "rank", "Sender's rank", base.DEC)
field("uint32", "cookie", "Cookie", base.HEX)
field("uint64", "word", "Reduction word", base.HEX)
field("uint16", "seqno", "Sequence that is armed or contributed to", base.DEC)
field("bool", "arm", "Arm")
field("uint8", "op", "Operator", base.HEX, OPCODES)
field("uint32", "count", "Contributions inside", base.DEC)
field("uint16", "resno", "Sequence whose result this is", base.DEC)
field("uint8", "rc", "Result code", base.DEC, RESULT_CODES)
field("int8", "m", "M", base.DEC)
field("uint8", "overflow_id", "Limb that overflowed", base.DEC)
field("uint8", "pad", "Pad", base.DEC)
field("bool", "retry", "Retry")
field("bytes", "payload", "Payload")
field("uint32", "elements", "Elements", base.DEC)
field("int64", "element__int", "Integer", base.DEC)
field("uint64", "element__bits", "Bits", base.HEX)
field("double", "element__float", "Float")
field("uint64", "element__index", "Index", base.DEC)
field("uint64", "element__limb", "Limb", base.HEX)
field("int8", "element__m", "M", base.DEC)
field("double", "element__value", "Value of the sum, as a double")
field("uint32", "report__first", "First contribution's SFA", base.HEX)
field("uint32", "report__other", "SFA of the one that differs", base.HEX)

field("uint32", "stream", "Stream: one id of one tree in one VNI", base.DEC)
field("framenum", "armed_in", "Armed in", base.NONE, frametype.REQUEST)
field("framenum", "contributed_in", "First contribution in", base.NONE)
field("framenum", "result_in", "Result in", base.NONE, frametype.RESPONSE)
field("relative_time", "time", "Time since the sequence was armed")

field("uint32", "hello__magic", "Magic", base.HEX)
field("uint8", "hello__version", "Version", base.DEC)
field("uint8", "hello__kind", "Kind", base.DEC, HELLO_KINDS)
field("uint8", "hello__name_length", "Name length", base.DEC)
field("uint8", "hello__port_name_length", "Port name length", base.DEC)
field("uint64", "hello__guid", "GUID of the switch", base.HEX)
field("uint32", "hello__nid", "NID of the host", base.HEX)
field("uint32", "hello__sequence", "Sequence", base.DEC)
field("uint16", "hello__interval", "Interval, ms", base.DEC)
field("uint8", "hello__port", "Port", base.DEC)
field("bytes", "hello__reserved", "Reserved")
field("uint8", "hello__flags", "Flags", base.HEX)
field("bool", "hello__link_hellos", "Sends link hellos", 8, nil, 0x01)
field("bool", "hello__hears", "Hears the neighbour", 8, nil, 0x01)
field("bool", "hello__uses_link", "Uses the link", 8, nil, 0x02)
field("uint16", "hello__checksum", "Checksum", base.HEX)
field("uint8", "hello__checksum__status", "Checksum status", base.DEC, CHECKS)
field("string", "hello__name", "Name")
field("string", "hello__port_name", "Port name")
field("uint64", "hello__heard_guid", "GUID of the switch that is heard", base.HEX)
field("uint8", "hello__heard_port", "Port that is heard", base.DEC)

field("uint8", "rdma__mark", "Mark", base.DEC, {[0] = "as sent", "trimmed by a switch"})
field("uint16", "rdma__header_check", "Header check", base.HEX)
field("uint8", "rdma__header_check__status", "Header check status", base.DEC, CHECKS)
field("uint8", "rdma__version", "RDMA version", base.DEC, nil, 0xF0)
field("uint8", "rdma__kind", "RDMA kind", base.DEC, RDMA_KINDS, 0x0F)
field("uint8", "rdma__flags", "RDMA flags", base.HEX)
field("bool", "rdma__last", "Last", 8, nil, 0x01)
field("bool", "rdma__resent", "Resent", 8, nil, 0x02)
field("bool", "rdma__range", "Range", 8, nil, 0x04)
field("bool", "rdma__busy", "Busy", 8, nil, 0x08)
field("bool", "rdma__ack_please", "Answer, please", 8, nil, 0x10)
field("bool", "rdma__immediate_flag", "Immediate data", 8, nil, 0x20)
field("bool", "rdma__to_sink", "To the sink", 8, nil, 0x40)
field("uint16", "rdma__dcid", "Receiver's context (DCID)", base.HEX)
field("uint16", "rdma__scid", "Sender's context (SCID)", base.HEX)
field("uint16", "rdma__cgen", "Generation of the sink's context (CGEN)", base.HEX)
field("uint32", "rdma__msgid", "MSGID", base.HEX)
field("uint32", "rdma__pidx", "PIDX", base.DEC)
field("uint32", "rdma__frames", "Frames (N)", base.DEC)
field("uint32", "rdma__wbase", "All below has been placed (WBASE)", base.DEC)
field("uint32", "rdma__sent", "Frames sent", base.DEC)
field("uint64", "rdma__offset", "Offset in the region", base.HEX)
field("uint64", "rdma__stamp", "Time stamp of the sender, ns", base.DEC)
field("uint64", "rdma__echo", "Newest time stamp that came, ns", base.DEC)
field("uint8", "rdma__status", "Status", base.DEC, RDMA_STATUSES)
field("uint32", "rdma__retry_after", "Retry after, us", base.DEC)
field("uint64", "rdma__word", "Word", base.HEX)
field("uint32", "rdma__length_low", "Length, bits 31:0", base.DEC)
field("uint32", "rdma__credit", "PIDX below this may be sent (credit)", base.DEC)
field("uint32", "rdma__frame_limit", "Payload bytes that a frame may have", base.DEC)
field("uint32", "rdma__value", "Value", base.HEX)
field("uint32", "rdma__crc", "CRC32C", base.HEX)
field("uint8", "rdma__crc__status", "CRC32C status", base.DEC, CHECKS)
field("uint64", "rdma__key", "Key of the peer's region", base.HEX)
field("uint64", "rdma__immediate", "Immediate data", base.HEX)
field("uint64", "rdma__incarnation", "Incarnation of the sender", base.HEX)
field("uint64", "rdma__proof", "Proof that the sender is there", base.HEX)
field("uint32", "rdma__proof_low", "Proof asked for, bits 31:0", base.HEX)
field("uint32", "rdma__proof_high", "Proof asked for, bits 63:32", base.HEX)
field("uint16", "rdma__nonce_low", "Nonce, bits 15:0", base.HEX)
field("uint16", "rdma__nonce_high", "Nonce, bits 31:16", base.HEX)
field("uint32", "rdma__nonce_echo", "Nonce of the request", base.HEX)
field("uint16", "rdma__slot", "Slot of the reader", base.DEC)
field("uint32", "rdma__length_high", "Length, bits 63:32", base.DEC)
field("uint64", "rdma__length", "Length", base.DEC)
field("uint16", "rdma__frame_payload", "Payload bytes of each frame", base.DEC)
field("uint32", "rdma__reserved", "Reserved", base.HEX)
field("bytes", "rdma__bitmap", "Bitmap")
field("uint32", "rdma__missing", "Asked for", base.DEC)
field("bytes", "rdma__payload", "Data")
field("uint32", "rdma__stream", "Stream: one transfer", base.DEC)
field("framenum", "rdma__request_in", "Requested in", base.NONE, frametype.REQUEST)
field("framenum", "rdma__done_in", "Done in", base.NONE, frametype.RESPONSE)
field("framenum", "rdma__first_sent_in", "First sent in", base.NONE, frametype.RETRANS_PREV)
field("relative_time", "rdma__time", "Time since the request")

trb.fields = fields

-- What can be wrong ---------------------------------------------------------------------------------

local x = {}
local experts = {}
local groups, severities = expert.group, expert.severity
local function problem(name, text, severity, group)
  x[name] = ProtoExpert.new("tributary.expert." .. name, text, group or groups.MALFORMED, severity or severities.ERROR)
  experts[#experts + 1] = x[name]
end

problem("too_short", "The frame ends too early")
problem("not_captured", "The capture has not kept the whole frame", severities.NOTE, groups.UNDECODED)
problem("wrong_version", "The first byte is neither a fabric header's (0x45) nor a hello's (0)")
problem("wrong_length", "No frame of this kind has this total length")
problem("wrong_checksum", "The checksum is wrong", severities.ERROR, groups.CHECKSUM)
problem("not_multicast", "A reduction's address has the action 7")
problem("wrong_request", "The request length is not that of the payload")
problem("wrong_form", "There is no such form")
problem("wrong_pair", "The operator is not defined for this form: passes through switches unreduced",
        severities.WARN, groups.PROTOCOL)
problem("reserved_opcode", "A reserved opcode: passes through switches unreduced", severities.WARN, groups.PROTOCOL)
problem("result_code", "The reduction reports an arithmetic condition", severities.NOTE, groups.RESPONSE_CODE)
problem("mismatch", "Members called different operations", severities.ERROR, groups.RESPONSE_CODE)
problem("retry", "The sender asks again", severities.NOTE, groups.SEQUENCE)
problem("unknown_version", "A version that is not known")
problem("unknown_kind", "A kind that is not known")
problem("bad_name", "A name has at least a letter, and letters, digits, '_', '-', '.' only")
problem("bad_port", "No switch has a port of this number")
problem("bad_nid", "A NID has 20 bits and does not look like a multicast")
problem("bad_interval", "A link hello names the time until the next one")
problem("leaves", "The sender leaves", severities.NOTE, groups.SEQUENCE)
problem("one_way", "The sender does not hear this link's other end", severities.WARN, groups.SEQUENCE)
problem("wrong_mark", "The mark is 0, or 1 of a frame without payload")
problem("bad_header_check", "The header check is wrong", severities.ERROR, groups.CHECKSUM)
problem("bad_crc", "The CRC is wrong", severities.ERROR, groups.CHECKSUM)
problem("bad_request", "A request has 32 bytes behind the header")
problem("bad_bitmap", "A bitmap has whole 64-bit words, at most 1,024 bits")
problem("unexpected_payload", "Nothing stands behind the header of this kind", severities.WARN, groups.PROTOCOL)
problem("refused", "The peer refuses, or has given up", severities.WARN, groups.RESPONSE_CODE)
problem("busy", "The peer has no free context now", severities.NOTE, groups.RESPONSE_CODE)
problem("trimmed", "A switch has cut the payload for want of room", severities.NOTE, groups.SEQUENCE)
problem("resent", "Sent again", severities.NOTE, groups.SEQUENCE)
problem("missing", "Frames are asked for again", severities.NOTE, groups.SEQUENCE)
trb.experts = experts

-- Preferences ---------------------------------------------------------------------------------------

trb.prefs.ethertypes = Pref.range(
  "EtherTypes", "34997", "Those that ports are configured for, decimal (34997 is 0x88B5)", 65535)
trb.prefs.verify = Pref.bool("Verify checksums and CRCs", true, "Costs time in large captures")
trb.prefs.shown = Pref.uint("Elements shown of a vector", 64, "The others are counted")

-- Bytes ---------------------------------------------------------------------------------------------

local bxor = bit32 and bit32.bxor
if not bxor and bit then
  bxor = function(a, b) return bit.bxor(a, b) % 0x100000000 end
elseif not bxor then
  bxor = load("return function(a, b) return a ~ b end")()
end

local crc_table -- made when the first CRC is verified

local function crc32c(crc, text)
  if not crc_table then
    crc_table = {}
    for byte = 0, 255 do
      local value = byte
      for _ = 1, 8 do
        local odd = value % 2 == 1
        value = math.floor(value / 2)
        value = odd and bxor(value, 0x82F63B78) or value
      end
      crc_table[byte] = value
    end
  end
  for at = 1, #text do
    crc = bxor(math.floor(crc / 256), crc_table[bxor(crc % 256, text:byte(at))])
  end
  return crc
end

--- Ones' complement sum of 16-bit words, folded; 0xFFFF where the checksum among them is right.
local function ones_sum(text)
  local sum = 0
  for at = 1, #text do
    sum = sum + text:byte(at) * (at % 2 == 1 and 256 or 1)
  end
  while sum > 0xFFFF do
    sum = sum % 0x10000 + math.floor(sum / 0x10000)
  end
  return sum
end

local NAN = math.abs(0 / 0) -- its sign is the processor's choice

--- A binary16 (five bits of exponent) or bfloat16 (eight) as a number.
local function small_float(bits, exponent_bits)
  local fraction_bits = 15 - exponent_bits
  local scale = 2 ^ fraction_bits
  local fraction = bits % scale
  local exponent = math.floor(bits / scale) % 2 ^ exponent_bits
  local bias = 2 ^ (exponent_bits - 1) - 1
  local value
  if exponent == 2 ^ exponent_bits - 1 then
    value = fraction == 0 and math.huge or NAN
  elseif exponent == 0 then
    value = fraction * 2 ^ (1 - bias - fraction_bits)
  else
    value = (1 + fraction / scale) * 2 ^ (exponent - bias)
  end
  return bits >= 0x8000 and -value or value
end

-- A frame while it is dissected -----------------------------------------------------------------------
--
--   s.tvb, s.pinfo, s.tree       Wireshark's
--   s.have                       bytes that are there
--   s.was                        bytes that were on the wire, behind the Ethernet header
--   s.info                       words of the Info column

local function complain(s, tree, which, text)
  tree:add_proto_expert_info(x[which], text)
end

--- Whether bytes at..at + size are there; says so once if not. `what` is what they would be.
local function need(s, at, size, what)
  if at + size <= s.have then
    return true
  end
  if at + size <= s.was then
    complain(s, s.tree, "not_captured", string.format(
      "The capture kept %d of %d bytes: it ends in the %s", s.have, s.was, what))
  else
    complain(s, s.tree, "too_short", string.format(
      "The frame ends in the %s: %d bytes, %d are needed", what, s.was, at + size))
  end
  s.info[#s.info + 1] = s.have < s.was and "[not all captured]" or "[cut]"
  if at < s.have then
    s.tree:add(f.rest, s.tvb(at, s.have - at))
  end
  return false
end

local function say(s, ...)
  s.info[#s.info + 1] = string.format(...)
end

local function check(tree, status_field, range, right)
  local status = 2
  if right ~= nil then
    status = right and 1 or 0
  end
  tree:add(status_field, range, status):set_generated()
  return status ~= 0
end

-- Who answers whom: state across frames ---------------------------------------------------------------

local streams, stream_count -- of reductions: by VNI, tree and id; each has rounds by seqno
local transfers, transfer_count -- of RDMA: by both ends, VNI and MSGID
local of_frame -- by frame number: what was found out on the first pass

local function forget()
  streams, stream_count = {}, 0
  transfers, transfer_count = {}, 0
  of_frame = {}
end
forget()
trb.init = forget

local function stream_of(key)
  local stream = streams[key]
  if not stream then
    stream = {index = stream_count, rounds = {}}
    stream_count = stream_count + 1
    streams[key] = stream
  end
  return stream
end

--- The round of one sequence. Numbers come again after 1,022 of them: one that has its result and is
--- armed or contributed to again is another round.
local function round_of(stream, seqno, again)
  local round = stream.rounds[seqno]
  if not round or (again and round.result) then
    round = {}
    stream.rounds[seqno] = round
  end
  return round
end

local function follow_reduction(s, w)
  local seen = of_frame[s.pinfo.number]
  if not s.pinfo.visited and not seen then
    local number, now = s.pinfo.number, s.pinfo.abs_ts
    local stream = stream_of(string.format("%d/%d/%d", w.vni, w.tree, w.id))
    seen = {stream = stream.index}
    if w.from_root then
      if w.resno ~= NO_RESULT then
        local round = stream.rounds[w.resno]
        if round then
          round.result = round.result or number
          seen.completes = round
          seen.since = round.armed_at and now - round.armed_at
        end
      end
      if w.arm then
        local round = round_of(stream, w.seqno, true)
        if not round.armed then
          round.armed, round.armed_at = number, now
        end
      end
    else
      seen.round = round_of(stream, w.seqno, true)
      seen.round.contributed = seen.round.contributed or (w.count > 0 and number or nil)
    end
    of_frame[number] = seen
  end
  if not seen then
    return
  end
  s.tree:add(f.stream, seen.stream):set_generated()
  local function link(which, number)
    if number and number ~= s.pinfo.number then
      s.tree:add(which, number):set_generated()
    end
  end
  local round = seen.round or seen.completes
  if round then
    link(f.armed_in, round.armed)
    link(f.contributed_in, round.contributed)
    link(f.result_in, round.result)
  end
  if seen.since then
    s.tree:add(f.time, NSTime.new(math.floor(seen.since), math.floor(seen.since % 1 * 1e9))):set_generated()
  end
end

local function follow_transfer(s, r)
  local seen = of_frame[s.pinfo.number]
  if not s.pinfo.visited and not seen then
    local number, now = s.pinfo.number, s.pinfo.abs_ts
    local low, high = math.min(r.source, r.destination), math.max(r.source, r.destination)
    local key = string.format("%d/%d/%d/%d", r.vni, low, high, r.message)
    local transfer = transfers[key]
    if not transfer then
      transfer = {index = transfer_count, sent = {}}
      transfer_count = transfer_count + 1
      transfers[key] = transfer
    end
    seen = {transfer = transfer}
    if r.kind == RQT or r.kind == RD_RQT then
      if not transfer.request then
        transfer.request, transfer.asked_at = number, now
      end
    elseif r.kind == WR then
      seen.first_sent = transfer.sent[r.pidx]
      transfer.sent[r.pidx] = transfer.sent[r.pidx] or number
    elseif r.kind == DONE then
      transfer.done = transfer.done or number
      seen.since = transfer.asked_at and now - transfer.asked_at
    end
    of_frame[number] = seen
  end
  if not seen then
    return
  end
  local transfer = seen.transfer
  s.tree:add(f.rdma__stream, transfer.index):set_generated()
  local function link(which, number)
    if number and number ~= s.pinfo.number then
      s.tree:add(which, number):set_generated()
    end
  end
  link(f.rdma__request_in, transfer.request)
  link(f.rdma__done_in, transfer.done)
  link(f.rdma__first_sent_in, seen.first_sent)
  if seen.since then
    s.tree:add(f.rdma__time, NSTime.new(math.floor(seen.since), math.floor(seen.since % 1 * 1e9))):set_generated()
  end
end

-- Payloads --------------------------------------------------------------------------------------------

local function class_of(op)
  local entry = OPERATORS[op] or {"RESERVED", "bits", "nothing"}
  return entry[2], entry[3]
end

--- Whether the operator is defined for elements of this form of a wide frame.
local function carries(form, op)
  local class, shape = class_of(op)
  if shape == "nothing" then
    return false
  elseif form == 6 then
    return shape == "tuple"
  elseif form == 7 then
    return shape == "repsum"
  elseif shape then
    return false
  elseif form == 4 then
    return class ~= "float"
  elseif form == 5 then
    return class == "float"
  end
  return true
end

--- Adds one number of 1 to 8 bytes. Answers it as text, for the Info column.
local function add_number(tree, range, class, little, narrow_exponent)
  local size = range:len()
  local item
  if class == "float" then
    if size == 2 then
      item = tree:add(f.element__float, range, small_float(little and range:le_uint() or range:uint(), narrow_exponent))
    else
      item = tree:add(f.element__float, range, little and range:le_float() or range:float())
    end
  elseif class == "int" then
    local value
    if size == 8 then
      value = little and range:le_int64() or range:int64()
    else
      value = Int64.new(little and range:le_int() or range:int())
    end
    item = tree:add(f.element__int, range, value)
  else
    local value
    if size == 8 then
      value = little and range:le_uint64() or range:uint64()
    else
      value = UInt64.new(little and range:le_uint() or range:uint())
    end
    item = tree:add(class == "index" and f.element__index or class == "limbs" and f.element__limb or f.element__bits,
                    range, value)
  end
  return item
end

local function add_tuple(tree, range, class, little)
  local names = {"Minimum", "its index", "Maximum", "its index"}
  for i = 0, 3 do
    add_number(tree, range(8 * i, 8), i % 2 == 0 and class or "index", little):prepend_text(names[i + 1] .. ": ")
  end
end

--- sum of T[i] x 2^(40 (M - 3 + i)), from the most significant limb down, as the page says.
local function add_repsum(tree, range, m, little)
  local value = 0
  for i = 3, 0, -1 do
    local limb = range(8 * i, 8)
    value = value + (little and limb:le_int64() or limb:int64()):tonumber() * 2.0 ^ (40 * (m - 3 + i))
  end
  for i = 0, 3 do
    add_number(tree, range(8 * i, 8), "limbs", little):prepend_text("T" .. i .. ", ")
  end
  if m >= 125 then
    value = ({[125] = -math.huge, [126] = math.huge, [127] = NAN})[m]
  end
  tree:add(f.element__value, range, value):set_generated()
end

local function signed_byte(value)
  return value > 127 and value - 256 or value
end

local function dissect_words(s, at, w)
  if not need(s, at, 32, "payload") then
    return
  end
  local range = s.tvb(at, 32)
  local tree = s.tree:add(f.payload, range)
  local class, shape = class_of(w.op)
  if w.rc == 8 then
    tree:add(f.report__first, s.tvb(at, 4))
    tree:add(f.report__other, s.tvb(at + 4, 4))
    say(s, "NID 0x%x against NID 0x%x", math.floor(s.tvb(at, 4):uint() / 4096),
        math.floor(s.tvb(at + 4, 4):uint() / 4096))
  elseif shape == "tuple" then
    add_tuple(tree, range, class, false)
  elseif shape == "repsum" then
    add_repsum(tree, range, w.m, false)
  else
    for i = 0, 3 do
      add_number(tree, s.tvb(at + 8 * i, 8), class, false)
    end
  end
end

local function dissect_vector(s, at, w, bytes)
  local size = FORMS[w.form][2]
  local there = math.min(bytes, s.have - at)
  if there > 0 then
    local tree = s.tree:add(f.payload, s.tvb(at, there))
    local count = math.floor(there / size)
    tree:add(f.elements, s.tvb(at, there), math.floor(bytes / size)):set_generated()
    local class = class_of(w.op)
    if not carries(w.form, w.op) then
      class = "bits"
      if w.form >= 6 then
        count = 0 -- nothing says what they are made of
      end
    end
    for i = 0, math.min(count, trb.prefs.shown) - 1 do
      local range = s.tvb(at + i * size, size)
      if w.form == 6 then
        add_tuple(tree:add(f.element__index, range, UInt64.new(i)):set_text("Tuple " .. i), range, class, true)
      elseif w.form == 7 then
        local m = signed_byte(range(32, 1):uint())
        local sum = tree:add(f.element__m, range(32, 1), m):set_text("Sum " .. i .. ", M " .. m)
        add_repsum(sum, range(0, 32), m, true)
      else
        add_number(tree, range, class, true, w.form == 5 and 8 or 5)
      end
    end
    if count > trb.prefs.shown then
      tree:append_text(string.format(" (%d of %d elements shown)", trb.prefs.shown, count))
    end
  end
  need(s, at, bytes, "payload")
end

-- Reductions --------------------------------------------------------------------------------------------

--- What a frame is for, in a word; the rules of docs/protocol/collective.md.
local function purpose_of(w)
  if w.from_root then
    if w.arm and w.seqno == PRE_ARM then
      return "pre-arm"
    elseif w.resno == NO_RESULT then
      return w.arm and "arm" or "call"
    end
    return "result"
  elseif w.rc == 8 and w.form == 0 then
    return "mismatch report"
  end
  if w.count == 0 then
    return w.retry and "request" or "result frame"
  end
  return "contribution"
end

local function dissect_reduction(s, h)
  local w = {vni = h.vni, tree = h.tree, id = h.id}
  local wide = h.total ~= WORDS_BYTES
  if not need(s, 20, REDUCTION_HEADER - 20, "reduction header") then
    return
  end
  local tvb, tree = s.tvb, s.tree
  s.add_command(s)
  tree:add(f.signature, tvb(22, 7))
  tree:add(f.request_flags, tvb(29, 2))
  local request = tree:add(f.request_length, tvb(29, 2))
  w.form = tvb(31, 1):uint()
  local form = tree:add(f.form, tvb(31, 1))
  tree:add_le(f.rank, tvb(32, 4))
  tree:add(f.cookie, tvb(36, 4))

  local payload_bytes = h.total - REDUCTION_HEADER
  if wide and (payload_bytes % 8 ~= 0 or payload_bytes < 40 or payload_bytes > 65472) then
    complain(s, h.total_item, "wrong_length", string.format(
      "Total length %d: a reduction has 80, or 48 and a multiple of 8 from 40 to 65,472", h.total))
    say(s, "[wrong length]")
    payload_bytes = nil
  end
  local expected = wide and payload_bytes and (17 + payload_bytes) % 4096 or not wide and 49 or nil
  if expected and tvb(29, 2):uint() % 4096 ~= expected then
    complain(s, request, "wrong_request", string.format("Request length %d, and the payload makes it %d",
                                                        tvb(29, 2):uint() % 4096, expected))
  end
  if payload_bytes and ((wide and not FORMS[w.form]) or (not wide and w.form ~= 0)) then
    complain(s, form, "wrong_form", wide and string.format("Form %d: a wide frame has 1 to 7", w.form)
      or string.format("Form %d in an 84-byte frame, which has 0", w.form))
    if wide then
      payload_bytes = nil
    end
  end

  local high, low = tvb(40, 4):uint(), tvb(44, 4):uint()
  local function bits(value, from, count)
    return math.floor(value / 2 ^ from) % 2 ^ count
  end
  w.seqno = bits(low, 0, 10)
  w.arm = bits(low, 10, 1) == 1
  w.op = bits(low, 11, 6)
  w.count = bits(low, 17, 15) + bits(high, 0, 5) * 2 ^ 15
  w.resno = bits(high, 5, 10)
  w.rc = bits(high, 15, 4)
  w.m = signed_byte(bits(high, 19, 8))
  w.pad = bits(high, 29, 3)
  w.retry = w.pad % 2 == 1
  -- Where the tree has in-switch results the root contributes like the others (docs/protocol/in-switch-results.md).
  w.from_root = w.arm or (h.dscp == 8 and not (w.count > 0 and w.resno == w.seqno))
  local word = tree:add(f.word, tvb(40, 8))
  word:add(f.pad, tvb(40, 1), w.pad)
  word:add(f.retry, tvb(40, 1), w.retry)
  word:add(f.overflow_id, tvb(40, 1), bits(high, 27, 2))
  word:add(f.m, tvb(40, 2), w.m)
  local rc = word:add(f.rc, tvb(41, 2), w.rc)
  word:add(f.resno, tvb(42, 2), w.resno)
  word:add(f.count, tvb(43, 3), w.count)
  local op = word:add(f.op, tvb(45, 2), w.op)
  word:add(f.arm, tvb(46, 1), w.arm)
  word:add(f.seqno, tvb(46, 2), w.seqno)

  local purpose = purpose_of(w)
  tree:add(f.kind, purpose):set_generated()
  tree:append_text(string.format(", %s, tree %d, id %d", purpose, w.tree, w.id))
  say(s, "%s tree %d id %d", purpose:gsub("^%l", string.upper), w.tree, w.id)
  if w.from_root then
    if purpose == "result" then
      say(s, "of seq %d,", w.resno)
    end
    say(s, w.arm and "arms seq %d" or "opens seq %d", w.seqno)
  else
    say(s, "seq %d", w.seqno)
  end
  if purpose ~= "arm" and purpose ~= "pre-arm" and purpose ~= "request" and purpose ~= "call" then
    say(s, OPCODES[w.op])
    if wide and payload_bytes then
      say(s, "%d x %s", math.floor(payload_bytes / FORMS[w.form][2]), FORMS[w.form][1])
    end
    say(s, "count %d", w.count)
  end
  if not w.from_root then
    say(s, "rank %d", tvb(32, 4):le_uint())
  end
  if w.retry then
    say(s, "retry")
    complain(s, word, "retry", w.from_root and "The root asks again, or replays" or "The leaf asks again")
  end
  if w.rc == 8 then
    say(s, "op_mismatch")
    complain(s, rc, "mismatch", "Two operators, forms or lengths met")
  elseif w.rc ~= 0 then
    say(s, RESULT_CODES[w.rc])
    complain(s, rc, "result_code", "Result code " .. w.rc .. ", " .. RESULT_CODES[w.rc])
  end
  if OPCODES[w.op] == "RESERVED" then
    complain(s, op, "reserved_opcode", string.format("Reserved opcode 0x%02x", w.op))
  elseif wide and payload_bytes and not carries(w.form, w.op) then
    complain(s, op, "wrong_pair", OPCODES[w.op] .. " is not defined for " .. FORMS[w.form][1])
  end
  follow_reduction(s, w)
  if not wide then
    dissect_words(s, REDUCTION_HEADER, w)
  elseif payload_bytes then
    dissect_vector(s, REDUCTION_HEADER, w, payload_bytes)
  elseif s.have > REDUCTION_HEADER then
    tree:add(f.rest, tvb(REDUCTION_HEADER, s.have - REDUCTION_HEADER))
  end
end

-- RDMA --------------------------------------------------------------------------------------------------

--- The field of PIDX, of the word and of the value, by kind; where a kind has none the raw one.
local PIDX_FIELDS = {
  [WR] = f.rdma__pidx, [RQT] = f.rdma__frames, [RD_RQT] = f.rdma__frames, [RESEND] = f.rdma__wbase,
  [PROG] = f.rdma__wbase, [DONE] = f.rdma__wbase, [QUERY] = f.rdma__sent, [RSP] = f.rdma__wbase,
}
local WORD_FIELDS = {
  [RQT] = f.rdma__offset, [RD_RQT] = f.rdma__offset, [WR] = f.rdma__stamp, [PROG] = f.rdma__echo,
  [DONE] = f.rdma__echo,
}

local function dissect_rdma_request(s, r)
  local at, tvb, tree = RDMA_HEADER, s.tvb, s.tree
  if s.total - at ~= 48 then
    complain(s, tree, "bad_request", string.format("%d bytes behind the header of a request, not 48", s.total - at))
    if s.have > at then
      tree:add(f.rest, tvb(at, math.min(s.have, s.total) - at))
    end
    return
  end
  if not need(s, at, 48, "request") then
    return
  end
  tree:add_le(f.rdma__key, tvb(at, 8))
  tree:add_le(f.rdma__immediate, tvb(at + 8, 8))
  tree:add_le(f.rdma__incarnation, tvb(at + 16, 8))
  tree:add_le(f.rdma__proof, tvb(at + 24, 8))
  tree:add_le(f.rdma__length_high, tvb(at + 32, 4))
  tree:add_le(f.rdma__credit, tvb(at + 36, 4))
  tree:add_le(f.rdma__frame_payload, tvb(at + 40, 2))
  tree:add_le(f.rdma__slot, tvb(at + 42, 2))
  tree:add_le(f.rdma__reserved, tvb(at + 44, 4))
  local length = UInt64.new(r.value, tvb(at + 32, 4):le_uint())
  tree:add(f.rdma__length, tvb(at + 32, 4), length):set_generated()
  say(s, "%s bytes in %d frames", tostring(length), r.pidx)
end

local function dissect_bitmap(s, r)
  local bytes = s.total - RDMA_HEADER
  if bytes == 0 then
    if r.kind == RESEND then
      say(s, "asks for PIDX %d%s", r.pidx, r.range and " and all behind" or "")
      complain(s, s.tree, "missing", "PIDX " .. r.pidx .. " is asked for")
    end
    return
  end
  if bytes % 8 ~= 0 or bytes > 128 then
    complain(s, s.tree, "bad_bitmap", bytes .. " bytes of bitmap")
  end
  if not need(s, RDMA_HEADER, bytes, "bitmap") then
    return
  end
  local tree = s.tree:add(f.rdma__bitmap, s.tvb(RDMA_HEADER, bytes))
  local missing = 0
  for at = 0, math.min(bytes, 128) - 1 do
    local range = s.tvb(RDMA_HEADER + at, 1)
    local byte = range:uint()
    for i = 0, 7 do
      if math.floor(byte / 2 ^ i) % 2 == 1 then
        tree:add(f.rdma__missing, range, (r.pidx + 8 * at + i) % 0x100000000)
        missing = missing + 1
      end
    end
  end
  say(s, "asks for %d%s", missing, r.range and " and all behind" or "")
  complain(s, tree, "missing", missing .. " frames are asked for again")
end

local function dissect_rdma(s, h)
  if not need(s, 20, RDMA_HEADER - 20, "RDMA header") then
    return
  end
  local tvb, tree = s.tvb, s.tree
  if h.total < RDMA_HEADER then
    complain(s, h.total_item, "wrong_length", string.format("Total length %d: RDMA has at least 56", h.total))
    say(s, "[wrong length]")
  end
  s.add_command(s)
  local mark = tvb(21, 1):uint()
  local mark_item = tree:add(f.rdma__mark, tvb(21, 1))
  local header_check = tree:add_le(f.rdma__header_check, tvb(22, 2))
  local at = 24
  local r = {vni = h.vni, source = h.source, destination = h.destination}
  local version = math.floor(tvb(at, 1):uint() / 16)
  r.kind = tvb(at, 1):uint() % 16
  local version_item = tree:add(f.rdma__version, tvb(at, 1))
  local kind_item = tree:add(f.rdma__kind, tvb(at, 1))
  local flags = tvb(at + 1, 1):uint()
  local flags_tree = tree:add(f.rdma__flags, tvb(at + 1, 1))
  for _, name in ipairs({"last", "resent", "range", "busy", "ack_please", "immediate_flag", "to_sink"}) do
    flags_tree:add(f["rdma__" .. name], tvb(at + 1, 1))
  end
  local function flag(bit_value)
    return math.floor(flags / bit_value) % 2 == 1
  end
  r.range = flag(4)
  tree:add_le(r.kind == RQT and f.rdma__nonce_low or f.rdma__dcid, tvb(at + 2, 2))
  tree:add_le(f.rdma__scid, tvb(at + 4, 2))
  tree:add_le(r.kind == RQT and f.rdma__nonce_high or f.rdma__cgen, tvb(at + 6, 2))
  tree:add_le(f.rdma__msgid, tvb(at + 8, 4))
  r.message = tvb(at + 8, 4):le_uint()
  r.pidx = tvb(at + 12, 4):le_uint()
  r.value = tvb(at + 24, 4):le_uint()
  local status
  if r.kind == RSP or r.kind == ABORT then
    status = tvb(at + 16, 1):uint()
  end
  local unproven = r.kind == RSP and status == 13
  tree:add_le(unproven and f.rdma__proof_high or PIDX_FIELDS[r.kind] or f.rdma__pidx, tvb(at + 12, 4))
  if status then
    local word = tree:add_le(f.rdma__word, tvb(at + 16, 8))
    local item = word:add(f.rdma__status, tvb(at + 16, 1))
    word:add_le(status == 0 and f.rdma__nonce_echo or f.rdma__retry_after, tvb(at + 20, 4))
    if status == 1 then
      complain(s, item, "busy", "Busy: ask again after " .. tvb(at + 20, 4):le_uint() .. " us")
    elseif status ~= 0 then
      complain(s, item, "refused", "Status " .. (RDMA_STATUSES[status] or status))
    end
  else
    local word = tree:add_le(WORD_FIELDS[r.kind] or f.rdma__word, tvb(at + 16, 8))
    if r.kind == RESEND then
      word:add_le(f.rdma__nonce_echo, tvb(at + 20, 4))
    end
  end
  if r.kind == RQT or r.kind == RD_RQT then
    tree:add_le(f.rdma__length_low, tvb(at + 24, 4))
  elseif unproven then
    tree:add_le(f.rdma__proof_low, tvb(at + 24, 4))
  elseif r.kind == RSP and status == 7 then
    tree:add_le(f.rdma__frame_limit, tvb(at + 24, 4))
  elseif r.kind == RSP or r.kind == RESEND or r.kind == PROG then
    tree:add_le(f.rdma__credit, tvb(at + 24, 4))
  else
    tree:add_le(f.rdma__value, tvb(at + 24, 4))
  end
  local crc = tree:add_le(f.rdma__crc, tvb(at + 28, 4))

  local trimmed = mark == 1 and h.total == RDMA_HEADER
  if mark > 1 or (mark == 1 and not trimmed) then
    complain(s, mark_item, "wrong_mark", "Mark " .. mark .. " of a frame with " .. h.total - RDMA_HEADER ..
             " bytes of payload")
  elseif trimmed then
    complain(s, mark_item, "trimmed", "A switch has cut the payload")
  end
  local header_right, crc_right
  if trb.prefs.verify and h.total >= RDMA_HEADER then
    local state = crc32c(0xFFFFFFFF, tvb:raw(12, 8) .. tvb:raw(4, 2) .. tvb:raw(24, 28))
    header_right = bxor(state, 0xFFFFFFFF) % 0x10000 == tvb(22, 2):le_uint()
    if not trimmed and h.total <= s.have then
      state = crc32c(state, h.total > RDMA_HEADER and tvb:raw(RDMA_HEADER, h.total - RDMA_HEADER) or "")
      crc_right = bxor(state, 0xFFFFFFFF) == tvb(at + 28, 4):le_uint()
    end
  end
  if not check(tree, f.rdma__header_check__status, tvb(22, 2), header_right) then
    complain(s, header_check, "bad_header_check", "The header check is wrong")
    say(s, "[bad header check]")
  end
  if not check(tree, f.rdma__crc__status, tvb(at + 28, 4), crc_right) then
    complain(s, crc, "bad_crc", "The CRC is wrong")
    say(s, "[bad CRC]")
  end

  local name = RDMA_KINDS[r.kind]
  if version ~= 2 then
    complain(s, version_item, "unknown_version", "Version " .. version .. " of the RDMA header, not 2")
  end
  if not name then
    complain(s, kind_item, "unknown_kind", "RDMA kind " .. r.kind)
    name = "unknown kind " .. r.kind
  end
  tree:add(f.kind, "RDMA " .. name):set_generated()
  tree:append_text(string.format(", RDMA %s, NID 0x%x to 0x%x", name, h.source, h.destination))
  say(s, "RDMA %s 0x%x to 0x%x msg 0x%x", name, h.source, h.destination, r.message)
  if r.kind == WR then
    say(s, "PIDX %d%s%s", r.pidx, flag(1) and " last" or "", flag(2) and " resent" or "")
    say(s, trimmed and "trimmed" or "%d bytes", h.total - RDMA_HEADER)
    if flag(2) then
      complain(s, flags_tree, "resent", "A copy of a frame that was sent before")
    end
  elseif r.kind == PROG or r.kind == RESEND then
    say(s, "placed below %d, may send below %d", r.pidx, r.value)
  elseif status then
    say(s, "%s", RDMA_STATUSES[status] or "status " .. status)
  end
  follow_transfer(s, r)
  if r.kind == RQT or r.kind == RD_RQT then
    dissect_rdma_request(s, r)
  elseif r.kind == RESEND or (r.kind == PROG and h.total > RDMA_HEADER) then
    dissect_bitmap(s, r)
  elseif h.total > RDMA_HEADER then
    if r.kind ~= WR then
      complain(s, tree, "unexpected_payload", h.total - RDMA_HEADER .. " bytes behind the header of " .. name)
    end
    if s.have > RDMA_HEADER then
      tree:add(f.rdma__payload, tvb(RDMA_HEADER, math.min(s.have, h.total) - RDMA_HEADER))
    end
    need(s, RDMA_HEADER, h.total - RDMA_HEADER, "payload")
  end
end

-- The fabric header ---------------------------------------------------------------------------------------

local function add_command(s)
  local tree = s.tree:add(f.command, s.tvb(20, 1))
  tree:add(f.command__request, s.tvb(20, 1))
  tree:add(f.command__type, s.tvb(20, 1))
  tree:add(f.command__opcode, s.tvb(20, 1))
  if s.multicast then
    s.tree:add(f.command__flush, s.tvb(21, 1))
    s.tree:add(f.command__packet_id, s.tvb(21, 1))
    s.tree:add(f.command__index, s.tvb(21, 1))
  end
end

local function nid_at_either_end(s, range, nid)
  s.tree:add(f.nid, range, nid):set_hidden()
end

local function dissect_fabric(s)
  if not need(s, 0, 20, "fabric header") then
    return
  end
  local tvb, tree = s.tvb, s.tree
  local h = {}
  tree:add(f.version, tvb(0, 1))
  tree:add(f.header_words, tvb(0, 1))
  h.dscp = math.floor(tvb(1, 1):uint() / 4)
  tree:add(f.dscp, tvb(1, 1))
  tree:add(f.ecn, tvb(1, 1))
  h.total = tvb(2, 2):uint()
  h.total_item = tree:add(f.total_length, tvb(2, 2))
  h.vni = tvb(4, 2):uint()
  tree:add(f.vni, tvb(4, 2))
  tree:add(f.portal_table_index, tvb(6, 2))
  tree:add(f.try, tvb(6, 2))
  tree:add(f.ttl, tvb(8, 1))
  tree:add(f.protocol, tvb(9, 1))
  local checksum = tree:add(f.checksum, tvb(10, 2))
  local right
  if trb.prefs.verify then
    right = ones_sum(tvb:raw(0, 20)) == 0xFFFF
  end
  if not check(tree, f.checksum__status, tvb(10, 2), right) then
    complain(s, checksum, "wrong_checksum", "The checksum of the fabric header is wrong")
    say(s, "[wrong checksum]")
  end
  h.source = math.floor(tvb(12, 4):uint() / 4096)
  local sfa = tree:add(f.sfa, tvb(12, 4))
  sfa:add(f.sfa__nid, tvb(12, 4))
  sfa:add(f.sfa__endpoint, tvb(12, 4))
  nid_at_either_end(s, tvb(12, 4), h.source)
  local address = tvb(16, 4):uint()
  local dfa = tree:add(f.dfa, tvb(16, 4))
  s.multicast = address >= 0xFF800000
  s.add_command = add_command
  s.total = h.total
  if s.multicast then
    h.tree = math.floor(address / 8) % 8192
    h.id = math.floor(address / 2 ^ 18) % 8 + math.floor(address / 2 ^ 21) % 4 * 8
      + math.floor(address / 2 ^ 16) % 4 * 32
    dfa:add(f.dfa__format, tvb(16, 4))
    dfa:add(f.dfa__id_high, tvb(16, 4))
    dfa:add(f.dfa__id_low, tvb(16, 4))
    dfa:add(f.dfa__id_top, tvb(16, 4))
    dfa:add(f.tree, tvb(16, 4))
    local action = dfa:add(f.dfa__action, tvb(16, 4))
    dfa:add(f.reduction_id, tvb(16, 4), h.id):set_generated()
    if address % 8 ~= 7 then
      complain(s, action, "not_multicast", "Action " .. address % 8 .. " of a multicast address, not 7")
      say(s, "Multicast with action %d", address % 8)
      if s.have > 20 then
        tree:add(f.rest, tvb(20, s.have - 20))
      end
      return
    end
  else
    h.destination = math.floor(address / 4096)
    dfa:add(f.dfa__nid, tvb(16, 4))
    dfa:add(f.dfa__endpoint, tvb(16, 4))
    nid_at_either_end(s, tvb(16, 4), h.destination)
  end
  if h.total < 20 then
    complain(s, h.total_item, "wrong_length", "Total length " .. h.total .. ", less than the header has")
    say(s, "[wrong length]")
    return
  end
  if s.multicast then
    dissect_reduction(s, h)
  elseif s.have > 20 and tvb(20, 1):uint() == 0xD1 then
    dissect_rdma(s, h)
  else
    tree:add(f.kind, "unicast"):set_generated()
    say(s, "Unicast 0x%x to 0x%x, %d bytes", h.source, h.destination, h.total - 20)
    local there = math.min(s.have, h.total) - 20
    if there > 0 then
      tree:add(f.payload, tvb(20, there))
    end
    need(s, 20, h.total - 20, "payload")
  end
  if h.total >= 20 and s.have > h.total then
    tree:add(f.padding, tvb(h.total, s.have - h.total))
  end
end

-- Hellos --------------------------------------------------------------------------------------------------

local function add_hello_checksum(s, length)
  local item = s.tree:add(f.hello__checksum, s.tvb(24, 2))
  local right
  if trb.prefs.verify and length <= s.have then
    right = ones_sum(s.tvb:raw(0, length)) == 0xFFFF
  end
  if not check(s.tree, f.hello__checksum__status, s.tvb(24, 2), right) then
    complain(s, item, "wrong_checksum", "The checksum of the hello is wrong")
    say(s, "[wrong checksum]")
  end
end

local function add_port(s, field_of_port, at)
  local item = s.tree:add(field_of_port, s.tvb(at, 1))
  if s.tvb(at, 1):uint() > 63 then
    complain(s, item, "bad_port", "Port " .. s.tvb(at, 1):uint() .. ": a switch has 0 to 63")
  end
  return s.tvb(at, 1):uint()
end

local function dissect_link_hello(s)
  if not need(s, 8, 28, "link hello") then
    return
  end
  local tvb, tree = s.tvb, s.tree
  tree:add(f.hello__reserved, tvb(6, 2))
  tree:add(f.hello__guid, tvb(8, 8))
  tree:add(f.hello__sequence, tvb(16, 4))
  local interval = tree:add(f.hello__interval, tvb(20, 2))
  if tvb(20, 2):uint() == 0 then
    complain(s, interval, "bad_interval", "Interval 0")
  end
  local port = add_port(s, f.hello__port, 22)
  local flags = tree:add(f.hello__flags, tvb(23, 1))
  flags:add(f.hello__hears, tvb(23, 1))
  flags:add(f.hello__uses_link, tvb(23, 1))
  add_hello_checksum(s, 36)
  tree:add(f.hello__heard_guid, tvb(26, 8))
  local heard = add_port(s, f.hello__heard_port, 34)
  tree:add(f.hello__reserved, tvb(35, 1))
  local hears = tvb(23, 1):uint() % 2 == 1
  say(s, "Link hello %d of 0x%s port %d,", tvb(16, 4):uint(), tostring(tvb(8, 8):bytes()):lower(), port)
  if hears then
    say(s, "hears 0x%s port %d", tostring(tvb(26, 8):bytes()):lower(), heard)
  else
    say(s, "hears no neighbour")
    complain(s, flags, "one_way", "The sender hears no neighbour on this link")
  end
  if s.have > 36 then
    tree:add(f.padding, tvb(36, s.have - 36))
  end
end

local function add_name(s, which, at, size, least)
  if size == 0 then
    if least > 0 then
      complain(s, s.tree, "bad_name", "The sender has no name")
    end
    return ""
  end
  local text = s.tvb:raw(at, size)
  local item = s.tree:add(which, s.tvb(at, size))
  if text:find("[^%w_.-]") then
    complain(s, item, "bad_name", "The name has bytes that names do not have")
    text = text:gsub("[^%w_.-]", "?")
  end
  return text
end

local function dissect_hello(s)
  if not need(s, 0, 8, "hello") then
    return
  end
  local tvb, tree = s.tvb, s.tree
  tree:add(f.hello__magic, tvb(0, 4))
  local version = tree:add(f.hello__version, tvb(4, 1))
  local kind = tvb(5, 1):uint()
  local kind_item = tree:add(f.hello__kind, tvb(5, 1))
  tree:add(f.kind, kind == 3 and "link hello" or "hello"):set_generated()
  if tvb(4, 1):uint() ~= 1 then
    complain(s, version, "unknown_version", "Version " .. tvb(4, 1):uint() .. " of hellos, not 1")
    say(s, "Hello of version %d", tvb(4, 1):uint())
    return
  end
  tree:append_text(kind == 3 and ", link hello" or ", hello")
  if kind == 3 then
    return dissect_link_hello(s)
  elseif kind ~= 1 and kind ~= 2 then
    complain(s, kind_item, "unknown_kind", "Kind " .. kind .. " of hellos")
    say(s, "Hello of kind %d", kind)
    return
  end
  if not need(s, 6, 20, "hello") then
    return
  end
  local name_bytes, port_name_bytes = tvb(6, 1):uint(), tvb(7, 1):uint()
  local lengths = tree:add(f.hello__name_length, tvb(6, 1))
  if name_bytes > 63 then
    complain(s, lengths, "bad_name", "A name of " .. name_bytes .. " bytes; 63 are the most")
  end
  lengths = tree:add(f.hello__port_name_length, tvb(7, 1))
  if port_name_bytes > 15 then
    complain(s, lengths, "bad_name", "A port name of " .. port_name_bytes .. " bytes; 15 are the most")
  end
  tree:add(f.hello__guid, tvb(8, 8))
  local nid = tvb(16, 4):uint()
  local nid_item = tree:add(f.hello__nid, tvb(16, 4))
  if nid > 0xFFFFF or nid >= 0xFF800 then
    complain(s, nid_item, "bad_nid", string.format("NID 0x%x", nid))
  end
  if kind == 2 then
    nid_at_either_end(s, tvb(16, 4), nid)
  end
  local interval = tvb(20, 2):uint()
  local interval_item = tree:add(f.hello__interval, tvb(20, 2))
  if interval == 0 then
    complain(s, interval_item, "leaves", "There will be no further hello")
  end
  local port = add_port(s, f.hello__port, 22)
  local flags = tree:add(f.hello__flags, tvb(23, 1))
  flags:add(f.hello__link_hellos, tvb(23, 1))
  local length = 26 + name_bytes + port_name_bytes
  add_hello_checksum(s, length)
  if not need(s, 26, name_bytes + port_name_bytes, "names") then
    return
  end
  local name = add_name(s, f.hello__name, 26, name_bytes, 1)
  local port_name = add_name(s, f.hello__port_name, 26 + name_bytes, port_name_bytes, 0)
  if kind == 2 then
    say(s, "Hello of host %s, NID 0x%x", name, nid)
  else
    say(s, "Hello of switch %s port %d", name, port)
  end
  if port_name ~= "" then
    say(s, "(%s)", port_name)
  end
  if interval == 0 then
    say(s, "leaves")
  end
  if s.have > length then
    tree:add(f.padding, tvb(length, s.have - length))
  end
end

-- The dissector ---------------------------------------------------------------------------------------------

function trb.dissector(tvb, pinfo, root)
  local s = {tvb = tvb, pinfo = pinfo, have = tvb:len(), was = tvb:reported_len(), info = {}}
  pinfo.cols.protocol = "Tributary"
  pinfo.cols.info = ""
  if s.have == 0 then
    root:add(trb):add_proto_expert_info(x[s.was == 0 and "too_short" or "not_captured"],
                                        "Nothing is there behind the Ethernet header")
    pinfo.cols.info = "[cut]"
    return
  end
  s.tree = root:add(trb, tvb())
  local first = tvb(0, 1):uint()
  if first == 0x45 then
    dissect_fabric(s)
  elseif first == 0 and (s.have < 4 or tvb(0, 4):uint() == 0x00545242) then
    dissect_hello(s)
  else
    complain(s, s.tree, "wrong_version", string.format("The first byte is 0x%02x", first))
    say(s, "[neither a fabric header nor a hello]")
    s.tree:add(f.rest, tvb())
  end
  pinfo.cols.info = table.concat(s.info, " ")
end

local registered

local function register()
  local table_of_types = DissectorTable.get("ethertype")
  if registered then
    table_of_types:remove(registered, trb)
  end
  registered = tostring(trb.prefs.ethertypes)
  table_of_types:add(registered, trb)
end
register()
trb.prefs_changed = register
