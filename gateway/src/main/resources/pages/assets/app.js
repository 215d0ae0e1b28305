// What pages do beyond links and forms: live parts, relative times, charts, the theme. Everything works on data
// attributes, so that no page carries a script of its own.
(() => {
  "use strict";

  const all = (selector, root) => Array.from((root || document).querySelectorAll(selector));

  // --- theme -------------------------------------------------------------------------------------------------------

  const dark = () => {
    const chosen = document.documentElement.dataset.theme;
    return chosen ? chosen === "dark" : window.matchMedia("(prefers-color-scheme: dark)").matches;
  };

  const themeButton = () => {
    const button = document.getElementById("theme");
    if (!button) {
      return;
    }
    const label = () => button.setAttribute("aria-label", dark() ? "Use light colours" : "Use dark colours");
    label();
    button.addEventListener("click", () => {
      const next = dark() ? "light" : "dark";
      document.documentElement.dataset.theme = next;
      try {
        localStorage.setItem("theme", next);
      } catch {
        // It then holds for this page only.
      }
      label();
      charts(document, true);
    });
  };

  // --- times -------------------------------------------------------------------------------------------------------

  const ago = (then) => {
    const seconds = Math.round((Date.now() - then) / 1000);
    const size = Math.abs(seconds);
    let text;
    if (size < 45) {
      return seconds < -1 ? "in a moment" : "just now";
    } else if (size < 3600) {
      text = Math.max(1, Math.round(size / 60)) + " min";
    } else if (size < 86400) {
      text = Math.floor(size / 3600) + " h";
    } else {
      const days = Math.floor(size / 86400);
      text = days === 1 ? "1 day" : days + " days";
    }
    return seconds < 0 ? "in " + text : text + " ago";
  };

  const times = (root) => {
    for (const time of all("time[data-ago]", root)) {
      const then = Date.parse(time.dateTime);
      if (!Number.isNaN(then)) {
        time.textContent = ago(then);
      }
    }
  };

  // --- charts ------------------------------------------------------------------------------------------------------

  const drawn = new Map();

  const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

  // data-chart holds [[x…], [y…], …]; data-names the series; data-x "time" or "number".
  const draw = (holder) => {
    const data = JSON.parse(holder.dataset.chart);
    const names = (holder.dataset.names || "").split("|");
    const palette = ["--accent", "--warm", "--cool", "--violet"].map(colour);
    const axis = {
      stroke: colour("--muted"),
      grid: { stroke: colour("--line"), width: 1 },
      ticks: { show: false },
      font: "12px system-ui, sans-serif",
    };
    const options = {
      width: Math.max(200, holder.clientWidth),
      height: Number(holder.dataset.height || 190),
      cursor: { points: { size: 7 } },
      legend: { live: true },
      scales: {
        x: { time: holder.dataset.x === "time" },
        y: { range: (plot, low, high) => range(low, high, holder.dataset.zero === "true") },
      },
      axes: [axis, { ...axis, size: 52 }],
      series: [
        { label: holder.dataset.x === "time" ? "time" : holder.dataset.xName || "step" },
        ...names.map((name, i) => ({
          label: name,
          stroke: palette[i % palette.length],
          width: 2,
          spanGaps: true,
          points: { show: data[0].length < 40, size: 5 },
          fill: names.length === 1 ? palette[0] + "1f" : undefined,
        })),
      ],
    };
    const plot = new uPlot(options, data, holder);
    drawn.set(holder, plot);
  };

  const range = (low, high, zero) => {
    if (low === null || high === null) {
      return [0, 1];
    }
    const bottom = zero ? Math.min(0, low) : low;
    const room = (high - bottom || Math.abs(high) || 1) * 0.08;
    return [zero && bottom === 0 ? 0 : bottom - room, high + room];
  };

  const charts = (root, again) => {
    for (const [holder, plot] of drawn) {
      if (again || !holder.isConnected) {
        plot.destroy();
        drawn.delete(holder);
      }
    }
    if (typeof uPlot === "undefined") {
      return;
    }
    for (const holder of all("[data-chart]", root)) {
      if (!drawn.has(holder) && holder.clientWidth > 0) {
        draw(holder);
      }
    }
  };

  // --- live parts --------------------------------------------------------------------------------------------------

  // data-events: a stream of server-sent events; data-refresh: the part of the page to fetch again when one comes;
  // data-again: also every so many seconds, for what has no stream.
  const MOST_OFTEN_MS = 700;
  let connection = "";

  const live = (part) => {
    let last = 0;
    let waiting = null;
    let over = false;
    const fetchPart = () => {
      waiting = null;
      last = Date.now();
      htmx.ajax("GET", part.dataset.refresh, { target: part, swap: "innerHTML" }).catch(() => {});
    };
    const refresh = () => {
      if (waiting === null) {
        waiting = setTimeout(fetchPart, Math.max(0, last + MOST_OFTEN_MS - Date.now()));
      }
    };
    if (part.dataset.events) {
      const source = new EventSource(part.dataset.events);
      const ends = (part.dataset.ends || "finished").split(" ");
      for (const type of (part.dataset.types || "").split(" ").filter(Boolean)) {
        source.addEventListener(type, () => {
          if (ends.includes(type)) {
            over = true;
            source.close();
            state("");
          }
          refresh();
        });
      }
      const state = (text) => {
        connection = text;
        all("[data-connection]").forEach((label) => { label.textContent = text; });
      };
      source.onopen = () => state("Live");
      source.onerror = () => {
        if (!over) {
          state(source.readyState === EventSource.CLOSED ? "Not live: reload to follow" : "Reconnecting…");
          // An ended session shows itself by the answer to a request for the part.
          refresh();
        }
      };
      window.addEventListener("pagehide", () => source.close());
    }
    if (part.dataset.again) {
      setInterval(() => {
        if (!document.hidden) {
          fetchPart();
        }
      }, 1000 * Number(part.dataset.again));
    }
  };

  // --- small helpers -----------------------------------------------------------------------------------------------

  document.addEventListener("submit", (event) => {
    const form = event.target;
    const question = form.dataset.confirm;
    if (question && !window.confirm(question)) {
      event.preventDefault();
      return;
    }
    // One press, one request; the button says that it works.
    for (const button of all("button[type=submit], button:not([type])", form)) {
      button.setAttribute("aria-busy", "true");
      setTimeout(() => { button.disabled = true; }, 0);
    }
  });

  window.addEventListener("pageshow", () => {
    for (const button of all("button[aria-busy]")) {
      button.removeAttribute("aria-busy");
      button.disabled = false;
    }
  });

  document.addEventListener("click", (event) => {
    const button = event.target.closest("[data-copy]");
    if (button && navigator.clipboard) {
      navigator.clipboard.writeText(document.getElementById(button.dataset.copy).textContent).then(() => {
        button.textContent = "Copied";
      });
    }
  });

  // The first lines of a chosen file and what is wrong with them, before anything is sent.
  const check = async (input) => {
    const out = document.getElementById(input.dataset.check);
    const file = input.files[0];
    if (!file || !out) {
      return;
    }
    const lines = (await file.text()).split("\n").filter((line) => line.trim());
    const splits = { feedback: 0, dev: 0, held_out: 0, "by hash": 0 };
    const faults = [];
    const questions = new Set();
    lines.forEach((line, i) => {
      try {
        const item = JSON.parse(line);
        if (typeof item.question !== "string" || item.answer === undefined) {
          faults.push("line " + (i + 1) + " has no question or no answer");
        } else if (questions.has(item.question)) {
          faults.push("line " + (i + 1) + " repeats a question");
        }
        questions.add(item.question);
        splits[item.split || "by hash"] = (splits[item.split || "by hash"] || 0) + 1;
      } catch {
        faults.push("line " + (i + 1) + " is not JSON");
      }
    });
    const counts = Object.entries(splits).filter((entry) => entry[1] > 0).map((entry) => entry[1] + " " + entry[0].replace("_", " "));
    out.textContent = lines.length + " items" + (counts.length ? ": " + counts.join(", ") : "") + ". " +
      (faults.length ? faults.slice(0, 5).join("; ") + (faults.length > 5 ? "; and " + (faults.length - 5) + " more" : "") + "." : "No fault found.");
    out.classList.toggle("bad", faults.length > 0);
  };

  // Parts of a form that belong to some kinds only; without a script all are there, and the server takes what fits.
  const kinds = () => {
    for (const choice of all("[data-kind]")) {
      for (const part of all("[data-of-kind]", choice.form)) {
        part.hidden = !part.dataset.ofKind.split(" ").includes(choice.value);
      }
    }
  };

  document.addEventListener("change", (event) => {
    if (event.target.dataset && event.target.dataset.kind !== undefined) {
      kinds();
    }
    if (event.target.dataset && event.target.dataset.check) {
      check(event.target);
    }
    if (event.target.dataset && event.target.dataset.submit !== undefined) {
      event.target.form.requestSubmit();
    }
  });

  document.addEventListener("DOMContentLoaded", () => {
    themeButton();
    kinds();
    times(document);
    charts(document, false);
    all("[data-refresh]").forEach(live);
    setInterval(() => times(document), 15000);
    let width = window.innerWidth;
    window.addEventListener("resize", () => {
      if (window.innerWidth !== width) {
        width = window.innerWidth;
        charts(document, true);
      }
    });
  });

  document.addEventListener("htmx:afterSwap", (event) => {
    times(event.target);
    charts(document, false);
    all("[data-connection]", event.target).forEach((label) => { label.textContent = connection; });
  });

  document.addEventListener("htmx:sendError", () => {
    all("[data-connection]").forEach((label) => { label.textContent = "No connection"; });
  });
})();
