/** Names of scheduled backups, and which of them are kept. Pure. */

const NAME = /^agent-webui-(\d{4}-\d{2}-\d{2})T(\d{2})-(\d{2})-(\d{2})Z\.tar\.zst$/
const DAY_MS = 24 * 60 * 60_000

/** `agent-webui-2026-11-23T03-00-00Z.tar.zst`, in UTC so that names sort by time. */
export const backupName = (ms: number): string =>
  `agent-webui-${new Date(ms).toISOString().slice(0, 19).replaceAll(':', '-')}Z.tar.zst`

/** Milliseconds since 1970; undefined for any other file. */
export const timeOfName = (name: string): number | undefined => {
  const [, day, hours, minutes, seconds] = NAME.exec(name) ?? []
  const ms = day === undefined ? Number.NaN : Date.parse(`${day}T${hours}:${minutes}:${seconds}Z`)
  return Number.isNaN(ms) ? undefined : ms
}

/** Weeks since 1970; they begin on Monday. 1970-01-01 was a Thursday. */
const weekOf = (ms: number): number => Math.floor((ms / DAY_MS + 3) / 7)
const dayOf = (ms: number): number => Math.floor(ms / DAY_MS)

/** The newest of each of the last `limit` periods that have one. */
const newestOf = (
  newestFirst: readonly { name: string; ms: number }[],
  periodOf: (ms: number) => number,
  limit: number,
): string[] => {
  const byPeriod = new Map<number, string>()
  for (const { name, ms } of newestFirst)
    if (!byPeriod.has(periodOf(ms))) byPeriod.set(periodOf(ms), name)
  return [...byPeriod.values()].slice(0, limit)
}

/** Names to delete: those of scheduled backups that are the newest of no period. The newest of all is kept in any case. */
export const expired = (
  names: readonly string[],
  { daily, weekly }: { daily: number; weekly: number },
): string[] => {
  const dated = names
    .flatMap(name => {
      const ms = timeOfName(name)
      return ms === undefined ? [] : [{ name, ms }]
    })
    .toSorted((a, b) => b.ms - a.ms)
  const kept = new Set([
    ...newestOf(dated, dayOf, Math.max(1, daily)),
    ...newestOf(dated, weekOf, weekly),
  ])
  return dated.map(({ name }) => name).filter(name => !kept.has(name))
}
