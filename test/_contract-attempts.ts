/** What `contract.test.ts` sends to a route that is at most refused: hostile and random values in each field. */
import type { Route } from './_contract.ts'
import { hostileBodies, hostileTexts, hostileValues } from './_hostile.ts'
import { createRandom, oddTexts, type Random, randomJson } from './_random.ts'

/** Each hostile value meets each field, and many random ones do. */
const FULL = process.env.PROOF === 'full'
export const SEED = Number(process.env.SEED ?? 20_260)

export type Attempt = { what: string; path: string; body?: unknown }

/** At full size all of them, else as many as given, other ones for each number. */
const shareOf = <T>(values: readonly T[], at: number, count = 1): readonly T[] =>
  FULL
    ? values
    : Array.from({ length: count }, (_, index) => values[(at + index * 7) % values.length]!)

/** Random where a coin says so, otherwise something the endpoint could know: later checks are reached as well. */
const randomBody = (random: Random, fields: readonly string[], known: Record<string, unknown>) =>
  Object.fromEntries(
    fields.flatMap(name => {
      const share = name in known ? 0.3 : 0.7
      if (random.next() < share) return [[name, randomJson(random)]]
      return name in known ? [[name, known[name]]] : []
    }),
  )

const randomQuery = (random: Random, fields: readonly string[], known: Record<string, unknown>) =>
  Object.fromEntries(
    fields.flatMap(name => {
      const text = random.pick(oddTexts).slice(0, 3_000).toWellFormed()
      if (random.next() < 0.4) return [[name, text]]
      return name in known ? [[name, known[name]]] : []
    }),
  )

/** Inputs of which each is at most refused. */
const inputsOf = ({ key, method, fields, at }: Route, known: Record<string, unknown>) => {
  const groups = method === 'GET' ? hostileTexts : hostileValues
  const base = Object.fromEntries(Object.entries(known).filter(([name]) => fields.includes(name)))
  const random = createRandom(SEED + key.length * 7919 + key.charCodeAt(key.length - 1))
  const make = method === 'GET' ? randomQuery : randomBody
  return [
    {},
    ...fields.flatMap((name, index) =>
      groups
        // Neighboring fields meet values of other groups.
        .filter((_, group) => FULL || group % 2 === index % 2)
        .flatMap(values => shareOf<unknown>(values, at + index))
        .map(value => ({ ...base, [name]: value })),
    ),
    // All fields at once; a single field has not met the other groups.
    ...(fields.length > 1 && !FULL ? [groups[at % groups.length]!] : groups)
      .flatMap(values => shareOf<unknown>(values, at))
      .map(value => Object.fromEntries(fields.map(name => [name, value]))),
    ...Array.from({ length: fields.length === 0 ? 0 : FULL ? 200 : 2 }, () =>
      make(random, fields, known),
    ),
  ]
}

export const attemptsOf = (route: Route, known: Record<string, unknown>): Attempt[] => {
  const { key, method, path, fields, at } = route
  const inputs = inputsOf(route, known)
  if (method === 'GET') {
    const twice = fields.map(name => `${name}=%ff%fe&${name}=2&${name}[]=3`).join('&')
    const queries = inputs.map(each => String(new URLSearchParams(each as Record<string, string>)))
    return ['?=&&==&%', twice, ...queries].map(query => ({
      what: `${key}?${query.slice(0, 300)}`,
      path: `${path}?${query}`,
    }))
  }
  // Text as a body is sent as it is.
  const bodies = ['', 'null', ...shareOf(hostileBodies, at, 2), ...inputs]
  return bodies.map(body => ({
    what: `${key} ${JSON.stringify(body).slice(0, 300)}`,
    path,
    body: typeof body === 'string' || Buffer.isBuffer(body) ? body : JSON.stringify(body),
  }))
}
