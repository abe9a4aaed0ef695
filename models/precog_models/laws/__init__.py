"""Rate laws, one file each, and the contract between a law, its compiler and the law engine.

A law is a Python file with these names:

``PARAMETERS``
    `language.Parameter` of each number that the host may change: name, format, unit, default.
``STATE``
    `language.Field` of each number that is kept per queue pair: name, format. Zeros at the start.
``WINDOWED``
    True: events return a rate and a window; False: a rate.
``PRESETS``
    `language.Preset` by name: its citation, and the parameters in which it differs from defaults.
``on_ack``, ``on_sample``, ``on_cnp``, ``on_loss``, ``on_timer``, ``on_score``
    A function for each event that the law hears; one function may stand under several names.

Everything else is made from the file by `compiler`: the golden model (the functions themselves,
compiled by numba), the evaluation over real numbers, microcode for the engine, widths and times.

**An event** calls ``on_x(p, s, e)``: `p` holds the parameters, `s` the queue pair's state, which
assignments change, `e` the event's words, `rate.engine.events.EVENT_FIELDS`. Words that have no
meaning for an event are 0. The result is the new rate, or ``rate, window``; the engine's fixed
logic keeps both within the queue pair's bounds, and the next event finds them so in `e`. An event
that the law does not hear changes nothing. All changes of one event take effect together, or none.

**Numbers** are integers: values of fixed-point formats ``Q(int, frac, signed)`` in units of their
last place. Rates are Q8.24 bytes per tick, times are ticks, windows bytes. The compiler takes any
value that a format can hold for possible, proves that no intermediate leaves the engine's signed
48-bit word (products before their shift: 63 bits), and that what is stored or returned fits its
format; where that needs knowledge that it does not have, the law says `clamp`.

**The language** is restricted Python. Statements: assignment to a name, to several, to ``s.x``,
also with ``+=`` and its like; ``if``, ``elif``, ``else``; ``return``; ``pass``. Expressions:
integers, names, ``p.x``, ``s.x``, ``e.x``, module constants, ``+ - * << >>``, ``&`` with a
non-negative constant, comparisons, ``and or not``, ``x if c else y``, a tuple of integers or a
table parameter with an index, and calls of ``min max abs``, of the primitives below, and of
functions of the same language, which are inlined: those that take records call them p, s, e; a
call that gets s is a whole right side or a condition, no part of a number; those that are declared
``-> None`` are statements, those that give a condition are declared ``-> bool``.
Conditions are comparisons, not numbers. No loops, no floats, no division.

====================  ============================================================================
``clamp(v, a, b)``    ``min(max(v, a), b)``
``v >> n``            towards minus infinity
``(a * b) >> n``      one instruction: the product may have 63 bits; one factor has at most 26
``rounded(v, n)``     ``v * 2**-n`` to nearest, ties up; of a product one instruction
``scale(v, f)``       ``rounded(v * f, 24)``: times a factor with 24 fraction bits
``fraction(a, b)``    ``a / b`` with 24 fraction bits, rounded down; 2**24 if ``a >= b``
``zeros(v)``          leading zeros of a 32-bit number, at most 31
``reciprocal(v)``     mantissa y, 17 bits, from a table: ``1 / v = y * 2**(zeros(v) - 48)``
``rsqrt(v)``          mantissa y from a table: ``1 / sqrt(v) = y * 2**((zeros(v) >> 1) - 32)``
``align(v, n)``       ``v << n``, saturated to the word
``wrap(v, n)``        ``v`` modulo ``2**n``
====================  ============================================================================

Their exact semantics are the functions of `rate.engine.arithmetic`, which laws call. A division by
0 is no error: `fraction` is then 2**24, and `reciprocal` and `rsqrt` take 0 for 1.

**Limits.** 14 fields of state; formats of 48 bits, 47 without a sign; 1024 instructions; 128
parameters and constants (those of -64..63 do not count), and with tables 512 words; 32 values at
once. The name of a file that a card loads has at most 16 ASCII characters, ``.py`` not counted.
"""
