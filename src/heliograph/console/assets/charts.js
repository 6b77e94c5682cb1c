// Charts: figure[data-chart] has one as JSON, which uPlot draws; `data-from` names where it is fetched anew.
"use strict";

(function () {
  const root = document.documentElement;
  const colour = (name) => getComputedStyle(root).getPropertyValue(`--${name}`).trim();
  const whole = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
  const short = new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 1 });
  const exact = new Intl.NumberFormat("en", { maximumFractionDigits: 6 });

  function span(ms) {
    if (ms < 1000) return `${whole.format(ms)} ms`;
    if (ms < 60000) return `${exact.format(Math.round(ms / 100) / 10)} s`;
    if (ms < 3600000) return `${exact.format(Math.round(ms / 6000) / 10)} min`;
    return `${exact.format(Math.round(ms / 360000) / 10)} h`;
  }

  // all and nothing are told apart from nearly so
  function percent(share) {
    if (share >= 0.9995 && share < 1) return "> 99.9%";
    return share > 0 && share < 0.0005 ? "< 0.1%" : `${(share * 100).toFixed(1)}%`;
  }

  // by the unit: how a value is told, and how an axis says it
  const units = {
    count: [whole.format, short.format],
    share: [percent, (share) => `${Math.round(share * 100)}%`],
    ms: [span, span],
    credits: [exact.format, (amount) => (Math.abs(amount) < 10 ? exact : short).format(amount)],
  };

  // YYYY-MM-DD, and HH:MM where steps are shorter than days, in the zone of the chart
  function teller(chart) {
    const date = { year: "numeric", month: "2-digit", day: "2-digit", timeZone: chart.zone };
    const clock = chart.step >= 86400 ? {} : { hour: "2-digit", minute: "2-digit" };
    const format = new Intl.DateTimeFormat("sv-SE", { ...date, ...clock });
    return (at) => format.format(new Date(at * 1000));
  }

  function options(chart, width) {
    const [told, said] = units[chart.unit];
    const moment = teller(chart);
    const axis = {
      stroke: colour("muted"), font: "12px system-ui, sans-serif", ticks: { show: false },
      grid: { stroke: colour("line"), width: 1 },
    };
    const decades = (_, splits) => splits.map((each) => (Number.isInteger(Math.log10(each)) ? each : null));
    const range = chart.unit === "share" ? [0, 1] : (_, low, high) => [low < 0 ? low * 1.08 : 0, high > 0 ? high * 1.08 : low < 0 ? 0 : 1];
    return {
      width,
      height: 220,
      tzDate: (at) => uPlot.tzDate(new Date(at * 1000), chart.zone),
      cursor: { y: false, points: { size: 7 }, drag: { x: false, y: false } },
      legend: { markers: { width: 2, dash: (_, index) => (chart.series[index - 1]?.dash ? "dashed" : "solid") } },
      scales: { y: chart.log ? { distr: 3 } : { range } },
      axes: [
        { ...axis, space: 70, values: [
          [31536000, "{YYYY}", null, null, null, null, null, null, 1],
          [2419200, "{MMM}", "\n{YYYY}", null, null, null, null, null, 1],
          [86400, "{DD} {MMM}", "\n{YYYY}", null, null, null, null, null, 1],
          [3600, "{HH}:{mm}", "\n{DD} {MMM}", null, "\n{DD} {MMM}", null, null, null, 1],
          [60, "{HH}:{mm}", "\n{DD} {MMM}", null, "\n{DD} {MMM}", null, null, null, 1],
          [1, "{HH}:{mm}:{ss}", "\n{DD} {MMM}", null, "\n{DD} {MMM}", null, null, null, 1],
        ] },
        { ...axis, size: 62, ...(chart.log ? { grid: { ...axis.grid, filter: decades } } : {}), values: (_, splits) => splits.map((each) => (each === null ? "" : said(each))) },
      ],
      series: [
        { label: `Time, ${chart.zone}`, value: (_, at) => (at === null ? "–" : moment(at)) },
        ...chart.series.map((line) => ({
          label: line.label,
          stroke: colour(line.tone),
          fill: line.fill ? `${colour(line.tone)}${line.bars ? "99" : "22"}` : undefined,
          width: line.bars ? 0 : 1.75,
          dash: line.dash ? [5, 4] : undefined,
          spanGaps: true,
          // a line needs two points: a value without another one is a dot
          points: { fill: colour(line.tone), show: (plot, index) => !line.bars && plot.data[index].filter(Number.isFinite).length === 1, size: 7 },
          paths: line.bars ? uPlot.paths.bars({ size: [0.8, 40] }) : undefined,
          value: (_, each) => (each === null || each === undefined ? "–" : told(each)),
        })),
      ],
    };
  }

  function begin(figure) {
    const place = figure.querySelector(".plot");
    const spoken = figure.querySelector("[aria-live]");
    let chart = JSON.parse(figure.dataset.chart);
    let plot = null;
    const values = () => [chart.x, ...chart.series.map((line) => line.values)];
    const draw = () => {
      if (plot) plot.destroy();
      plot = new uPlot(options(chart, Math.max(200, place.clientWidth)), values(), place);
    };
    draw();
    new ResizeObserver(() => {
      const width = Math.max(200, place.clientWidth);
      if (plot.width !== width) plot.setSize({ width, height: 220 });
    }).observe(place);
    new MutationObserver(draw).observe(root, { attributes: true, attributeFilter: ["data-theme"] });
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);

    // the arrow keys move along time
    let index = -1;
    place.addEventListener("keydown", (event) => {
      const last = chart.x.length - 1;
      const to = {
        ArrowLeft: index < 0 ? last : Math.max(0, index - 1), ArrowRight: Math.min(last, index + 1), Home: 0, End: last,
      }[event.key];
      if (to === undefined || last < 0) return;
      event.preventDefault();
      index = to;
      plot.setCursor({ left: plot.valToPos(chart.x[index], "x"), top: 10 });
      const told = units[chart.unit][0];
      spoken.textContent = [teller(chart)(chart.x[index]), ...chart.series.map((line) => {
        const value = line.values[index];
        return `${line.label} ${value === null || value === undefined ? "none" : told(value)}`;
      })].join(", ");
    });

    if (figure.dataset.from) {
      setInterval(async () => {
        if (document.hidden || place.contains(document.activeElement)) return;
        try {
          const answer = await fetch(figure.dataset.from, { headers: { "X-Piece": "1" }, credentials: "same-origin" });
          if (!answer.ok) return;
          chart = await answer.json();
          plot.setData(values());
        } catch {
          // the page says already that the gateway does not answer
        }
      }, Number(figure.dataset.every));
    }
  }

  const beginAll = (part) => part.querySelectorAll("figure[data-chart]").forEach(begin);
  beginAll(document);
  document.addEventListener("loaded", ({ target }) => beginAll(target));

  // [data-country]: the name of a country in the place of its two letters
  const names = new Intl.DisplayNames(["en"], { type: "region" });
  for (const part of document.querySelectorAll("[data-country]")) {
    try {
      part.textContent = `${names.of(part.dataset.country)} (${part.dataset.country})`;
    } catch {
      // not one that the browser knows
    }
  }
})();
