/**
 * Draws the plots in the reader's browser. Plain JavaScript as text, written into the page
 * unchanged.
 */
export const plotScript = `
(() => {
  const result = JSON.parse(document.getElementById('result').textContent);
  const size = () => ({ width: Math.min(document.body.clientWidth, 900), height: 260 });
  const line = (label, stroke, dash) =>
    ({ label, stroke, dash, width: 2, points: { show: false } });
  const draw = (element, title, axes, series, data, scales) =>
    new uPlot(
      { ...size(), title, scales: { x: { time: false }, ...scales }, axes, series }, data, element);
  const overTime = (seconds, keys) =>
    [seconds.map((_, n) => n), ...keys.map((key) => seconds.map((s) => s[key]))];
  for (const element of document.querySelectorAll('[data-plot]')) {
    const { plot } = element.dataset;
    const found = result.cases.find((one) => one.case === element.dataset.case);
    if (plot === 'latency') {
      draw(element, 'Latency by percentile', [{ label: 'percentile' }, { label: 'ms', size: 70 }],
        [{ label: 'percentile' }, line('ms', '#0b5fa5')],
        [found.distribution.map(([percent]) => percent), found.distribution.map(([, ms]) => ms)],
        { y: { distr: 3 } });
    } else if (plot === 'throughput') {
      draw(element, 'Answered per second', [{ label: 'second of load' }, { size: 80 }],
        [{ label: 'second' }, line('accepted', '#1a7f37'), line('refused', '#b35900'),
          line('failed', '#a00000')],
        overTime(found.seconds, ['accepted', 'refused', 'failed']));
    } else if (plot.startsWith('endurance-')) {
      const { intervals } = result.endurance.find((one) => one.case === element.dataset.case);
      const times = intervals.map((one) => one.at_s);
      const ms = (key) => ['p50', 'p99', 'max'].map((name) =>
        intervals.map((one) => one[key] && one[key][name]));
      const msSeries = [line('p50', '#1a7f37'), line('p99', '#0b5fa5'), line('max', '#a00000')];
      const seconds = { label: 'second of load' };
      const drawMs = (title, key) => draw(element, title, [seconds, { label: 'ms', size: 70 }],
        [{ label: 'second' }, ...msSeries], [times, ...ms(key)]);
      if (plot === 'endurance-load') {
        draw(element, 'Throughput, and CPU per request',
          [seconds, { label: 'requests/s', size: 80 },
            { label: 'CPU us/request', scale: 'cpu', side: 1, grid: { show: false } }],
          [{ label: 'second' }, line('requests/s', '#1a7f37'),
            { ...line('CPU us/request', '#b35900'), scale: 'cpu' }],
          [times, intervals.map((one) => one.requests_per_second),
            intervals.map((one) => one.cpu_us_per_request)],
          { y: { range: (_, __, max) => [0, max * 1.1] },
            cpu: { range: (_, __, max) => [0, max * 1.5] } });
      } else if (plot === 'endurance-memory') {
        draw(element, 'Memory', [seconds, { label: 'MB', size: 70 }],
          [{ label: 'second' }, line('rss', '#0b5fa5'), line('heap used', '#b35900')],
          [times, intervals.map((one) => one.rss_bytes / 1e6),
            intervals.map((one) => one.heap_bytes / 1e6)],
          { y: { range: (_, __, max) => [0, max * 1.1] } });
      } else if (plot === 'endurance-delay') drawMs('Event-loop delay', 'event_loop_delay_ms');
      else drawMs('Latency of the probe', 'probe_ms');
    } else {
      const { perSecond, endpoints } = result.audit;
      const send = endpoints.find((one) => one.endpoint === 'send');
      const bound = send ? (send.limit * send.users) / 60 : 0;
      const data = overTime(perSecond, ['accepted', 'refused']);
      draw(element, 'send: accepted and refused per simulated second, all users',
        [{ label: 'simulated second' }, { size: 80 }],
        [{ label: 'second' }, line('accepted', '#1a7f37'), line('refused', '#b35900'),
          line('limit, spread evenly', '#555', [6, 4])],
        [...data, perSecond.map(() => bound)]);
    }
  }
})();
`;
