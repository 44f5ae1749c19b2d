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
    const found = result.cases.find((one) => one.case === element.dataset.case);
    if (element.dataset.plot === 'latency') {
      draw(element, 'Latency by percentile', [{ label: 'percentile' }, { label: 'ms', size: 70 }],
        [{ label: 'percentile' }, line('ms', '#0b5fa5')],
        [found.distribution.map(([percent]) => percent), found.distribution.map(([, ms]) => ms)],
        { y: { distr: 3 } });
    } else if (element.dataset.plot === 'throughput') {
      draw(element, 'Answered per second', [{ label: 'second of load' }, { size: 80 }],
        [{ label: 'second' }, line('accepted', '#1a7f37'), line('refused', '#b35900'),
          line('failed', '#a00000')],
        overTime(found.seconds, ['accepted', 'refused', 'failed']));
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
