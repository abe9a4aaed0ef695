// The page works without this: it only highlights one flow, and the section in view.
(() => {
  const picker = document.querySelector(".picker");
  const figures = document.querySelectorAll(".per-flow");
  const choose = (flow) => {
    for (const figure of figures) {
      figure.classList.toggle("one-flow", flow !== "");
      for (const line of figure.querySelectorAll(".chosen")) line.classList.remove("chosen");
      if (flow !== "") {
        for (const line of figure.querySelectorAll(`.flow-${flow}`)) line.classList.add("chosen");
      }
    }
    for (const button of picker.querySelectorAll("button")) {
      button.setAttribute("aria-pressed", String(button.value === flow));
    }
  };
  picker.hidden = false;
  picker.addEventListener("click", (event) => {
    const button = event.target.closest("button");
    if (button) choose(button.getAttribute("aria-pressed") === "true" ? "" : button.value);
  });

  const links = new Map();
  for (const link of document.querySelectorAll("nav a")) links.set(link.hash.slice(1), link);
  const seen = new IntersectionObserver((entries) => {
    for (const entry of entries) {
      if (!entry.isIntersecting) continue;
      for (const link of links.values()) link.removeAttribute("aria-current");
      links.get(entry.target.id)?.setAttribute("aria-current", "true");
    }
  }, { rootMargin: "-20% 0px -70% 0px" });
  for (const section of document.querySelectorAll("section[id]")) seen.observe(section);
})();
