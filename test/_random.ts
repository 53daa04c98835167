/** Random JSON values for fuzz tests, reproducible by seed. */

export type Random = ReturnType<typeof createRandom>

/** Mulberry32, a small generator of sufficient uniformity. */
export const createRandom = (seed: number) => {
  let state = seed
  const next = (): number => {
    state = (state + 0x6d2b79f5) | 0
    let t = Math.imul(state ^ (state >>> 15), 1 | state)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296
  }
  const below = (limit: number): number => Math.floor(next() * limit)
  return {
    next,
    below,
    pick: <T>(items: readonly T[]): T => items[below(items.length)] as T,
  }
}

export const oddTexts: readonly string[] = [
  '',
  ' ',
  'a',
  '0',
  'true',
  'null',
  'm1',
  'default',
  '__proto__',
  'constructor',
  'toString',
  '\0',
  'a\0b',
  '\u001b[31m\r\n',
  '\ud800',
  'x\udfff',
  '\u202e\ufeff\u2028',
  '💥'.repeat(50),
  '../../outside.txt',
  '/tmp/outside.txt',
  '~/outside.txt',
  'x'.repeat(70_000),
  '[',
  '(?:(a+)+)+$',
  '2024-13-45T99:99:99Z',
  '* * * * *',
  'http://[::1',
]

const oddNumbers: readonly number[] = [
  0,
  -0,
  1,
  -1,
  0.5,
  1e308,
  -1e308,
  5e-324,
  2 ** 31,
  2 ** 53,
  -(2 ** 63),
]

const oddKeys = [
  'id',
  'name',
  'path',
  'text',
  'type',
  'length',
  'then',
  'toString',
  'valueOf',
  'toJSON',
  'constructor',
  '__proto__',
  '',
  '0',
]

/** Any JSON value; objects may have keys with a meaning in JavaScript, like `then` or `__proto__`. */
export const randomJson = (random: Random, depth = 3): unknown => {
  const kind = random.below(depth > 0 ? 7 : 4)
  if (kind === 0) return null
  if (kind === 1) return random.next() < 0.5
  if (kind === 2) return random.pick(oddNumbers)
  if (kind === 3) return random.pick(oddTexts)
  const size = random.below(4)
  if (kind === 4) return Array.from({ length: size }, () => randomJson(random, depth - 1))
  const entries = Array.from({ length: size }, () => [
    random.pick(oddKeys),
    randomJson(random, depth - 1),
  ])
  return Object.fromEntries(entries)
}
