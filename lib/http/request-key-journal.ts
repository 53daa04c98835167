/** The keys of requests as files that a cluster copies, one for each day (UTC): their database stays on its machine. */
import { mkdirSync, readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'
import type { Clock } from '../base/clock.ts'
import { appendText, readWholeText } from '../store/read-text.ts'
import { reportWrite } from '../store/write-reports.ts'

export type KeyJournal = {
  add(line: KeyLine): void
  /** Those of today and yesterday, oldest first. */
  read(): KeyLine[]
}

const DAY_MS = 24 * 3_600_000
const NAME = /^\d{4}-\d\d-\d\d\.jsonl$/

const Reply = z.object({
  status: z.number(),
  type: z.string(),
  headers: z.record(z.string(), z.string()),
  text: z.string(),
})
const Line = z.discriminatedUnion('t', [
  z.object({ t: z.literal('begun'), id: z.string(), at: z.number(), fingerprint: z.string() }),
  z.object({ t: z.literal('ended'), id: z.string(), reply: Reply.nullable() }),
  z.object({ t: z.literal('freed'), id: z.string() }),
])
export type KeyLine = z.infer<typeof Line>

const parse = (line: string): KeyLine[] => {
  try {
    return [Line.parse(JSON.parse(line))]
  } catch {
    // Torn by a kill, damaged, or the empty one behind the last line.
    return []
  }
}

export const createKeyJournal = (dir: string, clock: Clock): KeyJournal => {
  let today = ''
  const nameOf = (ms: number): string => `${new Date(ms).toISOString().slice(0, 10)}.jsonl`
  const names = (): string[] => {
    mkdirSync(dir, { recursive: true, mode: 0o700 })
    return readdirSync(dir)
      .filter(name => NAME.test(name))
      .sort()
  }
  const removeOld = (): void => {
    const kept = nameOf(clock.now() - DAY_MS)
    for (const name of names()) {
      if (name >= kept) continue
      rmSync(join(dir, name), { force: true })
      reportWrite(join(dir, name))
    }
  }
  return {
    add(line) {
      const name = nameOf(clock.now())
      if (name !== today) removeOld()
      today = name
      // A line that a kill has torn ends before this one.
      appendText(join(dir, name), `\n${JSON.stringify(line)}\n`)
    },
    read() {
      const kept = nameOf(clock.now() - DAY_MS)
      return names()
        .filter(name => name >= kept)
        .flatMap(name => readWholeText(join(dir, name)).split('\n').flatMap(parse))
    },
  }
}
