/**
 * Erases secrets from the environment this process was started with. Every program of the same user can read
 * `/proc/<pid>/environ`, commands of the agent included, and it shows the initial memory: changes of `process.env` do
 * not affect it.
 */
import { closeSync, openSync, readFileSync, writeSync } from 'node:fs'

/** Address of the environment: fields 50 and 51 of /proc/self/stat (proc_pid_stat(5)), counted after the process name. */
const addressOf = (stat: string): { start: number; end: number } => {
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return { start: Number(fields[47]), end: Number(fields[48]) }
}

type EnvironmentEntry = { name: string; at: number; length: number }

/** `at` and `length` are those of the value, in bytes. */
const entriesOf = (environ: Buffer): EnvironmentEntry[] => {
  const entries: EnvironmentEntry[] = []
  for (let from = 0; from < environ.length; ) {
    const end = environ.indexOf(0, from)
    const to = end < 0 ? environ.length : end
    const equals = environ.indexOf(0x3d, from)
    if (equals > from && equals < to)
      entries.push({
        name: environ.toString('utf8', from, equals),
        at: equals + 1,
        length: to - equals - 1,
      })
    from = to + 1
  }
  return entries
}

/**
 * Removes secret variables from `live` and from the memory that other programs can read. Returns the names that are still
 * readable: none, unless the system forbids a process to write its own memory.
 */
export const eraseSecrets = (
  /** `process.env` itself. */
  live: Record<string, string | undefined>,
  isSecret: (name: string) => boolean,
): string[] => {
  for (const name of Object.keys(live)) if (isSecret(name)) Reflect.deleteProperty(live, name)
  if (process.platform !== 'linux') return []
  const readable = () =>
    entriesOf(readFileSync('/proc/self/environ')).filter(
      ({ name, length }) => length > 0 && isSecret(name),
    )
  const secrets = readable()
  if (secrets.length === 0) return []
  const { start, end } = addressOf(readFileSync('/proc/self/stat', 'latin1'))
  if (!(start > 0 && end > start)) return secrets.map(({ name }) => name)
  try {
    const memory = openSync('/proc/self/mem', 'r+')
    try {
      for (const { at, length } of secrets)
        writeSync(memory, Buffer.alloc(length), 0, length, start + at)
    } finally {
      closeSync(memory)
    }
  } catch {
    // A hardened system: the remaining names are returned.
  }
  return readable().map(({ name }) => name)
}
