"""The live view: a table of queue pairs in a terminal.

Keys: ``s`` sorts by the next column, ``r`` turns the order round (a click on a column's title does
both), ``/`` asks for the queue pairs to be shown, space pauses, ``q`` leaves.
"""

import time
from collections.abc import Callable
from typing import Any, ClassVar

from rich.text import Text
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.widgets import DataTable, Footer, Input, Static

from precog_host.output import NO_PAIR, printable

from .sampling import QpSample, Sampler, Snapshot, qp_list, sparkline

__all__ = ["MonitorApp"]

_SPARK = 16
#: Title, attribute, how it is shown; a column without an attribute is a sparkline.
_COLUMNS: tuple[tuple[str, str, Callable[[Any], str]], ...] = (
    ("QP", "qp", str),
    ("law", "algorithm", str),
    ("rate Gb/s", "rate_gbps", "{:.3f}".format),
    ("rate, lately", "", str),
    ("RTT µs", "rtt_us", "{:.2f}".format),
    ("RTT, lately", "", str),
    ("pred. µs", "rtt_pred_us", "{:.2f}".format),
    ("score", "score", str),
    ("decisions/s", "decisions_per_s", "{:,.0f}".format),
    ("flags", "flags", " ".join),
)
_SORTABLE = [n for n, (_, attribute, _) in enumerate(_COLUMNS) if attribute]


class MonitorApp(App[None]):
    """The view of one device.

    Parameters
    ----------
    sampler : Sampler
        Used from one thread at a time.
    interval : float
        Seconds between snapshots.
    """

    CSS = """
    #status { height: 2; padding: 0 1; background: $panel; }
    #status.failed { background: $error; color: $text; }
    #filter { display: none; }
    #filter.asked { display: block; }
    DataTable { height: 1fr; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("s", "sort", "Sort by next"),
        Binding("r", "reverse", "Reverse"),
        Binding("slash", "filter", "QPs", key_display="/"),
        Binding("space", "pause", "Pause"),
        Binding("q", "quit", "Quit"),
    ]
    ENABLE_COMMAND_PALETTE = False

    def __init__(self, sampler: Sampler, interval: float = 1.0) -> None:
        super().__init__()
        self._sampler, self._interval = sampler, interval
        self._column, self._reversed = 0, False
        self._shown: set[int] | None = None
        self._snapshot = Snapshot(0.0)
        self._seen: tuple[QpSample, ...] = ()
        self._at = 0.0
        self._busy = False
        self._wrong = ""
        self.paused = False

    def compose(self) -> ComposeResult:
        yield Static(id="status")
        yield DataTable(id="qps", cursor_type="row", zebra_stripes=True)
        yield Input(id="filter", placeholder="queue pairs, such as 1,3-5; empty: all")
        yield Footer()

    def on_mount(self) -> None:
        table = self._table
        for title, _, _ in _COLUMNS:
            table.add_column(title, key=title)
        table.focus()
        self.set_interval(self._interval, self.refresh_data)
        self.refresh_data()

    # --- data ------------------------------------------------------------------------------------

    def refresh_data(self) -> None:
        """Take a snapshot in a thread of its own: a device that is gone takes seconds to fail."""
        if not (self.paused or self._busy):
            self._busy = True
            self.run_worker(self._take, thread=True, exit_on_error=True)

    def _take(self) -> None:
        snapshot = self._sampler.take()
        self.call_from_thread(self._arrived, snapshot)

    def _arrived(self, snapshot: Snapshot) -> None:
        self._busy = False
        self._snapshot = snapshot
        if snapshot.error is None:
            self._seen, self._at = snapshot.qps, snapshot.t
        self._draw()

    # --- keys ------------------------------------------------------------------------------------

    def action_sort(self) -> None:
        """Sort by the next column."""
        place = (_SORTABLE.index(self._column) + 1) % len(_SORTABLE)
        self._column = _SORTABLE[place]
        self._draw()

    def action_reverse(self) -> None:
        """Turn the order round."""
        self._reversed = not self._reversed
        self._draw()

    def action_pause(self) -> None:
        """Stand still, or go on."""
        self.paused = not self.paused
        self._draw()

    def action_filter(self) -> None:
        """Ask which queue pairs to show."""
        entry = self.query_one("#filter", Input)
        entry.add_class("asked")
        entry.focus()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Show those queue pairs only."""
        try:
            self._shown = qp_list(event.value) or None
            self._wrong = ""
        except ValueError as error:
            self._wrong = str(error)
        event.input.remove_class("asked")
        self._table.focus()
        self._draw()

    def on_data_table_header_selected(self, event: DataTable.HeaderSelected) -> None:
        """Sort by the column that was clicked; the other way round at the second click."""
        if event.column_index not in _SORTABLE:
            return
        self._reversed = event.column_index == self._column and not self._reversed
        self._column = event.column_index
        self._draw()

    # --- drawing ---------------------------------------------------------------------------------

    @property
    def _table(self) -> DataTable[Text]:
        return self.query_one("#qps", DataTable)

    def rows(self) -> list[QpSample]:
        """Queue pairs as they are shown, from top to bottom; what has no value is last."""
        attribute = _COLUMNS[self._column][1]
        shown = [qp for qp in self._seen if self._shown is None or qp.qp in self._shown]
        known = [qp for qp in shown if getattr(qp, attribute) is not None]
        rest = [qp for qp in shown if getattr(qp, attribute) is None]
        ordered = sorted(known, key=lambda qp: getattr(qp, attribute), reverse=self._reversed)
        return ordered + rest

    def _draw(self) -> None:
        table = self._table
        place = table.cursor_row
        table.clear()
        for qp in self.rows():
            table.add_row(*self._cells(qp), key=str(qp.qp))
        if table.row_count:
            table.move_cursor(row=min(place, table.row_count - 1))
        status = self.query_one("#status", Static)
        status.update(Text(printable_lines(self._status())))
        status.set_class(self._snapshot.error is not None, "failed")

    def _cells(self, qp: QpSample) -> list[Text]:
        history = self._sampler.history[qp.qp]
        lately = iter((history.rate, history.rtt))
        cells = []
        for _, attribute, show in _COLUMNS:
            if not attribute:
                cells.append(Text(sparkline(list(next(lately)), _SPARK), style="cyan"))
                continue
            value = getattr(qp, attribute)
            number = attribute not in ("algorithm", "flags")
            text = "–" if value is None else printable(show(value))
            cells.append(Text(text, justify="right" if number else "left"))
        return cells

    def _status(self) -> str:
        order = "falling" if self._reversed else "rising"
        parts = [
            self._sampler.uri,
            f"{len(self.rows())} of {len(self._seen)} QPs",
            f"by {_COLUMNS[self._column][0]}, {order}",
            f"every {self._interval:g} s",
        ]
        if self.paused:
            parts.append("PAUSED")
        if self._snapshot.error is not None:
            old = f", shown is {_clock(self._at)}" if self._at else ""
            second = f"{self._snapshot.error} (trying again{old})"
        else:
            second = self._wrong or _totals(self._seen)
        return "   ".join(parts) + "\n" + second


def _clock(t: float) -> str:
    return time.strftime("%H:%M:%S", time.localtime(t))


def _totals(qps: tuple[QpSample, ...]) -> str:
    if not qps:
        return NO_PAIR
    rate = sum(qp.rate_gbps for qp in qps)
    return f"sum of rates {rate:.2f} Gb/s"


def printable_lines(text: str) -> str:
    """Lines without characters that would steer a terminal."""
    return "\n".join(printable(line) for line in text.splitlines())
