"""A Wireshark dissector of the shim, in Lua, from the field table that gateware and models use.

The shim follows UDP; behind it Wireshark's own dissector of RoCEv2 goes on. Only what is in the
table is known here: names, widths and places of fields, versions, types, and the CRC's numbers.
"""

from precog_spec.frames.cps import (
    CRC8_INIT,
    CRC8_POLY,
    CRC8_XOR,
    SCORE_MAX,
    SCORE_NONE,
    SHIM,
    SHIM_PORT,
    SHIM_VERSION,
    ShimType,
)
from precog_spec.frames.headers import ROCE_PORT
from precog_spec.frames.layout import Field

__all__ = ["PROTOCOL", "dissector"]

#: Prefix of the fields in Wireshark's filters.
PROTOCOL = "precog_cps"

_DOCS = {
    "version": "Version",
    "type": "Type",
    "v": "Score is valid",
    "e": "Echo is valid",
    "t": "Time field is valid",
    "zero": "Zero",
    "senders": "Binary logarithm of the queue pairs that send to the sender",
    "score": "Congestion prediction score",
    "echo": "Echo of the score last received",
    "time": "Time, ns",
    "crc": "CRC-8",
}


def dissector(port: int = SHIM_PORT) -> str:
    """The Lua script.

    Parameters
    ----------
    port : int
        UDP destination port of packets with a shim; a preference in Wireshark, too.

    Raises
    ------
    ValueError
        The port is none that a shim can have.
    """
    if not 0 < port < 1 << 16 or port == ROCE_PORT:
        raise ValueError(f"shim port must be 1..65535 and not {ROCE_PORT}, not {port!r}")
    fields = SHIM.fields.values()
    types = ", ".join(f'[{int(kind)}] = "{kind.name.lower()}"' for kind in ShimType)
    lines = [
        "-- Precog's congestion score in RoCEv2 packets. Made by precog export --wireshark.",
        "-- Copy it to the folder of personal Lua plugins, or: tshark -X lua_script:FILE",
        f'local shim = Proto("{PROTOCOL}", "Precog CPS shim")',
        f"local SIZE, VERSION, NONE, MOST = {SHIM.size}, {SHIM_VERSION}, {SCORE_NONE}, {SCORE_MAX}",
        f"local TYPES = {{ {types} }}",
        "local f = {}",
        *(_declared(field) for field in fields),
        f'f.crc_ok = ProtoField.bool("{PROTOCOL}.crc_ok", "CRC-8 is right")',
        "shim.fields = f",
        f'shim.prefs.port = Pref.uint("UDP port", {port}, "of packets with a shim")',
        f'local wrong = ProtoExpert.new("{PROTOCOL}.malformed", "not a shim",'
        " expert.group.MALFORMED, expert.severity.WARN)",
        "shim.experts = { wrong }",
        "",
        "local function crc8(bytes)",
        f"  local value = {CRC8_INIT}",
        "  for n = 0, bytes:len() - 1 do",
        "    value = bit.bxor(value, bytes:get_index(n))",
        "    for _ = 1, 8 do",
        "      local top = bit.band(value, 0x80)",
        "      value = bit.band(bit.lshift(value, 1), 0xff)",
        f"      if top ~= 0 then value = bit.bxor(value, {CRC8_POLY}) end",
        "    end",
        "  end",
        f"  return bit.bxor(value, {CRC8_XOR})",
        "end",
        "",
        f'local rocev2 = DissectorTable.get("udp.port"):get_dissector({ROCE_PORT})',
        "",
        "function shim.dissector(buffer, pinfo, tree)",
        "  if buffer:len() < SIZE then return 0 end",
        "  local part = tree:add(shim, buffer(0, SIZE))",
        *(f"  part:add(f.{field.name}, {_range(field)})" for field in fields),
        f"  local crc_ok = crc8(buffer(0, {SHIM['crc'].byte}):bytes()) == "
        f"buffer({SHIM['crc'].byte}, 1):uint()",
        "  part:add(f.crc_ok, crc_ok):set_generated()",
        f"  local version, kind = {_value('version')}, {_value('type')}",
        "  if not crc_ok or version ~= VERSION or TYPES[kind] == nil then",
        "    part:add_proto_expert_info(wrong)",
        "    return 0",
        "  end",
        f"  local score = {_value('score')}",
        f"  if {_value('v')} == 0 or score == NONE then score = nil end",
        '  local said = score == nil and "no score" or "score " .. math.min(score, MOST)',
        '  part:append_text(", " .. TYPES[kind] .. ", " .. said)',
        "  if rocev2 ~= nil then rocev2:call(buffer(SIZE):tvb(), pinfo, tree) end",
        '  pinfo.cols.info:prepend("[" .. said .. "] ")',
        "  return buffer:len()",
        "end",
        "",
        'local ports, known = DissectorTable.get("udp.port"), nil',
        "local function changed()",
        "  if known ~= nil then ports:remove(known, shim) end",
        "  known = shim.prefs.port",
        "  ports:add(known, shim)",
        "end",
        "shim.prefs_changed = changed",
        "changed()",
    ]
    return "\n".join(lines) + "\n"


def _declared(field: Field) -> str:
    """A field of Wireshark's: its type holds the bytes, a mask says which bits of them."""
    size = field.end - field.byte
    mask = field.max << field.shift
    name, shown = f"{PROTOCOL}.{field.name}", _DOCS[field.name]
    whole = mask == (1 << 8 * size) - 1
    kind = f"uint{8 * size}"
    base = "base.HEX" if field.name == "crc" else "base.DEC"
    values = "TYPES" if field.name == "type" else "nil"
    bits = "" if whole else f", {mask:#x}"
    return f'f.{field.name} = ProtoField.{kind}("{name}", "{shown}", {base}, {values}{bits})'


def _range(field: Field) -> str:
    return f"buffer({field.byte}, {field.end - field.byte})"


def _value(name: str) -> str:
    """Value of a field, in Lua."""
    field = SHIM[name]
    size = 8 * (field.end - field.byte)
    return f"{_range(field)}:bitfield({size - field.shift - field.bits}, {field.bits})"
