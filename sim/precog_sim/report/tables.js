// Tables sort by any column, save as CSV and JSON, and show when they go on to the side.
(() => {
  const text = (node) => node.textContent.replace(/\s+/g, " ").trim();
  // A cell's figure is what stands before its small print.
  const main = (cell) => {
    const copy = cell.cloneNode(true);
    for (const small of copy.querySelectorAll("small, .ci, svg, .bar")) small.remove();
    return text(copy);
  };
  const plain = (value) => value.replace(/(\d),(?=\d{3})/g, "$1").replace(/\u2212/g, "-");
  const figure = (value) => {
    const found = /^[+-]?\d+(\.\d+)?(e[+-]?\d+)?/i.exec(plain(value));
    return found ? Number(found[0]) : null;
  };
  const notes = (cell) => [...cell.querySelectorAll("small, .ci")].map(text).filter(Boolean).join("; ");

  // Headings by column: those of several rows are joined, those over several columns repeated.
  const columns = (table) => {
    const grid = [];
    [...table.tHead.rows].forEach((row, y) => {
      let x = 0;
      for (const cell of row.cells) {
        while (grid[x]?.[y]) x += 1;
        for (let dx = 0; dx < cell.colSpan; dx += 1, x += 1) {
          for (let dy = 0; dy < cell.rowSpan; dy += 1) (grid[x] ??= [])[y + dy] = cell;
        }
      }
    });
    return grid.map((cells) => ({
      cell: cells.at(-1),
      name: [...new Set(cells)].map((cell) => {
        const unit = notes(cell);
        return main(cell) + (unit ? ` (${unit})` : "");
      }).filter(Boolean).join(", "),
      sorts: !("nosort" in cells.at(-1).dataset),
    }));
  };

  const records = (table) => {
    const heads = columns(table).map((column, n) => column.name || `column ${n + 1}`);
    const found = [];
    for (const body of table.tBodies) {
      let group = "";
      for (const row of body.rows) {
        if (row.classList.contains("head-row")) { group = [...row.cells].map(text).filter(Boolean).join("; "); continue; }
        const record = group ? { group } : {};
        [...row.cells].forEach((cell, n) => {
          const value = main(cell), number = figure(value), small = notes(cell);
          if (!heads[n] || (!value && !small)) return;
          record[heads[n]] = String(number) === plain(value).replace(/(\.\d*?)0+$/, "$1").replace(/\.$/, "") ? number : value;
          if (small) record[`${heads[n]}, note`] = plain(small);
        });
        found.push(record);
      }
    }
    return found;
  };

  const csv = (rows) => {
    const keys = [...new Set(rows.flatMap((row) => Object.keys(row)))];
    const quote = (value) => (/[",\n]/.test(value) ? `"${value.replaceAll('"', '""')}"` : value);
    const lines = rows.map((row) => keys.map((key) => quote(String(row[key] ?? ""))).join(","));
    return [keys.map(quote).join(","), ...lines].join("\r\n") + "\r\n";
  };

  const save = (name, type, body) => {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([body], { type }));
    link.download = name;
    link.click();
    URL.revokeObjectURL(link.href);
  };

  const button = (label, act) => {
    const made = document.createElement("button");
    made.type = "button";
    made.className = "save";
    made.textContent = label;
    made.addEventListener("click", act);
    return made;
  };

  // Groups of rows stay together: their first figure decides.
  const sort = (table, column, down) => {
    const groups = table.tBodies.length > 1;
    const units = groups ? [...table.tBodies] : [...(table.tBodies[0]?.rows ?? [])];
    const value = (unit) => {
      const rows = groups ? [...unit.rows].filter((row) => !row.classList.contains("head-row")) : [unit];
      const cells = rows.map((row) => row.cells[column]).filter(Boolean).map(main);
      return groups && column === 0 ? main(unit.rows[0].cells[0]) : cells[0] ?? "";
    };
    const order = (a, b) => {
      const [x, y] = [value(a), value(b)], [m, n] = [figure(x), figure(y)];
      if ((m === null) !== (n === null)) return m === null ? 1 : -1;  // figures first
      return (down ? -1 : 1) * (m === null ? x.localeCompare(y) : m - n);
    };
    for (const unit of units.sort(order)) unit.parentNode.append(unit);
  };

  for (const scroller of document.querySelectorAll(".scroller")) {
    const scroll = scroller.firstElementChild, table = scroll.querySelector("table");
    const name = `precog-${text(document.getElementById(table.getAttribute("aria-labelledby")).firstChild).toLowerCase().replace(/[^a-z0-9]+/g, "-").replace(/^-|-$/g, "")}`;
    columns(table).forEach(({ cell, sorts }, n) => {
      if (!sorts || cell.dataset.sorted) return;
      cell.dataset.sorted = "no";
      const head = document.createElement("button");
      head.type = "button";
      head.append(...cell.childNodes);
      cell.append(head);
      head.addEventListener("click", () => {
        const down = cell.getAttribute("aria-sort") === "ascending";
        for (const other of table.tHead.querySelectorAll("[aria-sort]")) other.removeAttribute("aria-sort");
        cell.setAttribute("aria-sort", down ? "descending" : "ascending");
        sort(table, n, down);
      });
    });
    const tools = document.createElement("p");
    tools.className = "tools";
    const cue = document.createElement("span");
    cue.className = "cue";
    cue.textContent = "More columns to the right: scroll";
    tools.append(
      cue,
      button("CSV", () => save(`${name}.csv`, "text/csv", csv(records(table)))),
      button("JSON", () => save(`${name}.json`, "application/json", JSON.stringify(records(table), null, 1))),
    );
    scroller.before(tools);
    const look = () => {
      const more = scroll.scrollWidth - scroll.clientWidth - scroll.scrollLeft > 4;
      scroller.classList.toggle("more", more);
      tools.classList.toggle("more", more);
    };
    scroll.addEventListener("scroll", look, { passive: true });
    new ResizeObserver(look).observe(scroll);
  }

  for (const whole of document.querySelectorAll("[data-save]")) {
    whole.hidden = false;
    whole.addEventListener("click", () => {
      const data = JSON.parse(document.getElementById(whole.dataset.save).textContent);
      save(`${whole.dataset.save}.json`, "application/json", JSON.stringify(data, null, 1));
    });
  }

  const tip = document.getElementById("tip");
  const show = (event) => {
    const target = event.target.closest?.("[data-tip]");
    tip.hidden = !target;
    if (!target) return;
    tip.textContent = target.dataset.tip;
    const box = target.getBoundingClientRect(), own = tip.getBoundingClientRect();
    const left = Math.min(Math.max(8, box.left + box.width / 2 - own.width / 2), innerWidth - own.width - 8);
    const above = box.top - own.height - 8;
    tip.style.left = `${Math.max(8, left)}px`;
    tip.style.top = `${above > 8 ? above : box.bottom + 8}px`;
  };
  for (const kind of ["mouseover", "focusin"]) document.addEventListener(kind, show);
  document.addEventListener("keydown", (event) => { if (event.key === "Escape") tip.hidden = true; });
  document.addEventListener("scroll", () => { tip.hidden = true; }, { passive: true, capture: true });
})();
