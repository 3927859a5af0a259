// The server ranks channels by estimates and then counts those of a page: within the page, the counts decide.
const BY = {
  waiting: (row) => -row.waiting.value,
  running: (row) => -row.running,
  oldest: (row) => row.oldest_at ?? Infinity,
  rate: (row) => -(row.out_per_s ?? 0),
  dead: (row) => -row.dead.value,
};

export function ordered(channels, sort) {
  const by = BY[sort];
  return by ? [...channels].sort((a, b) => by(a) - by(b) || 0) : channels;
}
