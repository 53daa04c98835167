/** The keys of requests as files that a cluster copies, one for each day (UTC): their database stays on its machine. */
import { mkdirSync, readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'
import type { Clock } from '../base/clock.ts'
import { appendText, readWholeText } from '../store/read-text.ts'
import { reportWrite } from '../store/write-reports.ts'

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

export class KeyJournal {
  readonly #dir: string
  readonly #clock: Clock
  #today = ''

  constructor(dir: string, clock: Clock) {
    this.#dir = dir
    this.#clock = clock
  }

  add(line: KeyLine): void {
    const name = this.#nameOf(this.#clock.now())
    if (name !== this.#today) this.#removeOld()
    this.#today = name
    // A line that a kill has torn ends before this one.
    appendText(join(this.#dir, name), `\n${JSON.stringify(line)}\n`)
  }

  /** Those of today and yesterday, oldest first. */
  read(): KeyLine[] {
    const kept = this.#nameOf(this.#clock.now() - DAY_MS)
    return this.#names()
      .filter(name => name >= kept)
      .flatMap(name => readWholeText(join(this.#dir, name)).split('\n').flatMap(parse))
  }

  #nameOf(ms: number): string {
    return `${new Date(ms).toISOString().slice(0, 10)}.jsonl`
  }

  #names(): string[] {
    mkdirSync(this.#dir, { recursive: true, mode: 0o700 })
    return readdirSync(this.#dir)
      .filter(name => NAME.test(name))
      .sort()
  }

  #removeOld(): void {
    const kept = this.#nameOf(this.#clock.now() - DAY_MS)
    for (const name of this.#names()) {
      if (name >= kept) continue
      rmSync(join(this.#dir, name), { force: true })
      reportWrite(join(this.#dir, name))
    }
  }
}
