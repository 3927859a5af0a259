// Round steps for axes: 1, 2, 5 times a power of ten for values, minutes and hours for time.

export function valueTicks(highest, wanted = 4) {
  if (highest <= 0) return [0, 1];
  const rough = highest / wanted;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((n) => n * power).find((n) => n >= rough);
  const many = Math.max(1, Math.ceil(highest / step - 1e-9));
  return Array.from({ length: many + 1 }, (_, n) => n * step);
}

const MINUTE = 60_000;
const ROUND = [1, 10, 100, 1_000, 2_000, 5_000, 10_000, 20_000, 30_000, ...[1, 2, 5, 10, 20, 30, 60, 120, 300, 720, 1_440].map((n) => n * MINUTE)];

/** The same for durations in milliseconds, on seconds, minutes and hours. */
export function durationTicks(highest, wanted = 4) {
  if (highest <= 0) return [0, 1_000];
  const step = ROUND.find((size) => highest / size <= wanted) ?? Math.ceil(highest / wanted / ROUND.at(-1)) * ROUND.at(-1);
  return Array.from({ length: Math.max(1, Math.ceil(highest / step)) + 1 }, (_, n) => n * step);
}

const STEPS = [1, 2, 5, 10, 15, 30, 60, 120, 180, 240, 360, 720, 1_440].map((n) => n * MINUTE);

export function timeTicks(from, to, wanted) {
  const step = STEPS.find((size) => (to - from) / size <= wanted) ?? STEPS.at(-1);
  const zone = new Date(from).getTimezoneOffset() * MINUTE; // ticks on the reader's full hours
  const ticks = [];
  for (let at = Math.ceil((from - zone) / step) * step + zone; at <= to; at += step) ticks.push(at);
  return ticks;
}

/** The unbroken runs of a series: where nothing was measured there is a gap, not a line. */
export function runs(times, values) {
  const all = [];
  let run = [];
  times.forEach((at, i) => {
    if (values[i] == null) {
      if (run.length) all.push(run);
      run = [];
    } else run.push([at, values[i]]);
  });
  if (run.length) all.push(run);
  return all;
}
